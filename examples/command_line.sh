pacshift calibrate before.csv now.csv
pacshift predict certificate.json now.csv --keep id -o sets.csv
pacshift report certificate.json -o report.html
pacshift check certificate.json later.csv
