#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

// The threshold one step of single precision lower: another exp() must not lose a label.
double lowered(double threshold) {
    const float down = -std::numeric_limits<float>::infinity();
    float below = static_cast<float>(threshold);
    if (below > threshold) below = std::nextafter(below, down);
    return std::nextafter(below, down);
}

// Whether each label is in the set; nothing for a row that must be refused.
std::optional<std::vector<bool>> prediction_set(std::vector<double> scores, const std::vector<double>& thresholds,
                                                bool softmax, bool never_empty) {
    const double inf = std::numeric_limits<double>::infinity();
    for (double& score : scores) {
        if (softmax) score = static_cast<float>(score);  // logits in single precision
        if (!(score < inf)) return std::nullopt;         // NaN, too
    }
    const auto first_top = std::max_element(scores.begin(), scores.end()) - scores.begin();
    if (softmax) {
        const double top = scores[first_top];
        if (top == -inf) return std::nullopt;
        double total = 0;
        for (double& score : scores) total += score = std::exp(score - top);
        for (double& score : scores) score /= total;
    }
    std::vector<bool> set(scores.size());
    bool empty = true;
    for (size_t label = 0; label < scores.size(); label++) {
        set[label] = scores[label] >= (softmax ? lowered(thresholds[label]) : thresholds[label]);
        empty = empty && !set[label];
    }
    if (never_empty && empty) set[first_top] = true;
    return set;
}
