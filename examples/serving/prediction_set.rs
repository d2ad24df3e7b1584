/// The threshold one step of single precision lower: another exp() must not lose a label.
fn lowered(threshold: f64) -> f64 {
    let mut below = threshold as f32;
    if below as f64 > threshold {
        below = below.next_down();
    }
    below.next_down() as f64
}

/// Whether each label is in the set; None for a row that must be refused.
fn prediction_set(scores: &[f64], thresholds: &[f64], softmax: bool, never_empty: bool) -> Option<Vec<bool>> {
    let mut values = scores.to_vec();
    if softmax {
        values.iter_mut().for_each(|logit| *logit = *logit as f32 as f64); // logits in single precision
    }
    if !values.iter().all(|score| *score < f64::INFINITY) {
        return None; // NaN, too
    }
    let mut top = 0;
    for (label, score) in values.iter().enumerate() {
        if *score > values[top] {
            top = label;
        }
    }
    let mut cuts = thresholds.to_vec();
    if softmax {
        let highest = values[top];
        if highest == f64::NEG_INFINITY {
            return None;
        }
        values.iter_mut().for_each(|value| *value = (*value - highest).exp());
        let total: f64 = values.iter().sum();
        values.iter_mut().for_each(|value| *value /= total);
        cuts = thresholds.iter().map(|threshold| lowered(*threshold)).collect();
    }
    let mut set: Vec<bool> = values.iter().zip(&cuts).map(|(value, cut)| value >= cut).collect();
    if never_empty && !set.contains(&true) {
        set[top] = true;
    }
    Some(set)
}
