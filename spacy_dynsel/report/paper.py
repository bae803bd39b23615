"""The figures of Strubell et al. (2015), for comparison: on the Wall Street Journal
(tagging, parsing) and CoNLL-2003 (entities). Those of cascades are by Weiss and Taskar
(2010)."""

# Model, accuracy, accuracy on unknown words, templates, speed-up.
TAGGING = [
    ("Baseline", 97.22, 88.63, 46, 1.0),
    ("Stagewise", 96.54, 83.63, 9.50, 2.74),
    ("Fixed", 89.88, 56.25, 1, 16.16),
    ("Fixed", 94.66, 60.59, 3, 9.54),
    ("Fixed", 96.16, 87.09, 5, 7.02),
    ("Fixed", 96.88, 88.81, 10, 3.82),
    ("Dynamic/15", 96.09, 83.12, 1.92, 10.36),
    ("Dynamic/35", 97.02, 88.26, 4.33, 5.22),
    ("Dynamic/45", 97.16, 88.84, 5.87, 3.97),
    ("Dynamic/50", 97.21, 88.95, 6.89, 3.41),
]
# Model, LAS, UAS, templates, speed-up.
PARSING = [
    ("Baseline", 90.31, 91.83, 60, 1.0),
    ("Fixed", 65.99, 70.78, 1, 27.5),
    ("Fixed", 86.87, 88.81, 10, 5.51),
    ("Fixed", 88.76, 90.51, 20, 2.83),
    ("Fixed", 89.04, 90.71, 30, 1.87),
    ("Dynamic/6.5", 88.63, 90.36, 7.81, 5.16),
    ("Dynamic/7.1", 89.07, 90.73, 8.57, 4.66),
    ("Dynamic/10", 90.16, 91.70, 13.27, 3.17),
    ("Dynamic/11", 90.27, 91.80, 15.83, 2.71),
]
# Model, F1, templates, speed-up.
ENTITIES = [
    ("Baseline", 88.35, 46, 1.0),
    ("Fixed", 65.05, 1, 19.08),
    ("Fixed", 85.00, 10, 2.14),
    ("Fixed", 85.81, 13, 1.87),
    ("Dynamic/3.0", 87.62, 7.23, 2.59),
    ("Dynamic/4.0", 88.20, 9.45, 2.32),
    ("Dynamic/5.0", 88.23, 12.96, 1.96),
]
# Method, templates, accuracy, speed-up.
ORDERING = [
    ("Lasso", 6, 90.53, 10.97),
    ("Lasso", 10, 94.33, 7.67),
    ("Lasso", 15, 94.84, 5.23),
    ("Lasso", 23, 96.19, 3.31),
    ("GOMP", 6, 92.18, 6.83),
    ("GOMP", 10, 94.15, 4.29),
    ("GOMP", 15, 96.46, 2.83),
    ("GOMP", 23, 96.81, 1.96),
    ("Wrapper", 6, 96.45, 6.13),
    ("Wrapper", 10, 96.88, 3.82),
    ("Wrapper", 15, 97.01, 2.62),
    ("Wrapper", 23, 97.15, 1.70),
]
# Model, accuracy, filter loss, milliseconds (of a sentence), states a position; on the Wall
# Street Journal.
TAGS = [
    ("Full", 96.83, 0.0, 173.28, 1935.7),
    ("SC", 96.82, 0.121, 1.56, 3.93),
    ("CRF", 96.84, 0.024, 4.16, 11.845),
    ("Tags", None, 0.118, 10.6, 95.39),
]
# Order, right characters, right words, filter loss, n-grams a position.
HANDWRITING = [
    (1, 77.44, 26.65, 0.56, 26.0),
    (2, 85.69, 49.44, 0.99, 123.8),
    (3, 87.95, 73.83, 3.41, 88.6),
    (4, 92.25, 84.46, None, 5.4),
]
# Model, all words, unknown words, features; tables 3 and 4 of Choi (2016), on the Wall Street
# Journal.
INDUCTION_DEV = [
    ("M0", 97.09, 86.14, 365400),
    ("M1", 97.37, 91.92, 365409),
    ("M2", 97.45, 91.96, 372181),
    ("M3", 97.42, 92.10, 468378),
    ("M4", 97.48, 92.21, 473134),
]
INDUCTION = [
    ("M0", 97.18, 86.35, None),
    ("M1", 97.37, 91.34, None),
    ("M2", 97.46, 91.23, None),
    ("M3", 97.52, 91.53, None),
    ("M4", 97.64, 92.03, None),
]
