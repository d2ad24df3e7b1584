"""What comes out: the certificate, its file and its explanation in plain words."""

from pacshift.certificate.certificate import Certificate

__all__ = ["Certificate"]
