class PredictionSet {
    /** The threshold one step of single precision lower: another exp() must not lose a label. */
    static double lowered(double threshold) {
        float below = (float) threshold;
        if (below > threshold) below = Math.nextDown(below);
        return Math.nextDown(below);
    }

    /** Whether each label is in the set; null for a row that must be refused. */
    static boolean[] of(double[] scores, double[] thresholds, boolean softmax, boolean neverEmpty) {
        double[] values = scores.clone();
        int top = 0;
        for (int label = 0; label < values.length; label++) {
            if (softmax) values[label] = (float) values[label];  // logits in single precision
            if (!(values[label] < Double.POSITIVE_INFINITY)) return null;  // NaN, too
            if (values[label] > values[top]) top = label;
        }
        if (softmax) {
            double highest = values[top], total = 0;
            if (highest == Double.NEGATIVE_INFINITY) return null;
            for (int label = 0; label < values.length; label++)
                total += values[label] = Math.exp(values[label] - highest);
            for (int label = 0; label < values.length; label++) values[label] /= total;
        }
        boolean[] set = new boolean[values.length];
        boolean empty = true;
        for (int label = 0; label < values.length; label++) {
            set[label] = values[label] >= (softmax ? lowered(thresholds[label]) : thresholds[label]);
            empty &= !set[label];
        }
        if (neverEmpty && empty) set[top] = true;
        return set;
    }
}
