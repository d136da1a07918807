//! Suggestions for misspelt names.

/// The name that was probably meant: the one with the fewest letters to insert, remove, replace or swap with a neighbour,
/// if those are at most a third. Case, hyphens, underscores and spaces do not count; of each name only the first 64 letters do.
///
/// ```
/// use tractable::data::nearest;
/// assert_eq!(nearest("mnits", ["cifar10", "mnist"]), Some("mnist"));
/// assert_eq!(nearest("CIFAR-10", ["cifar10", "mnist"]), Some("cifar10"));
/// assert_eq!(nearest("imagenet", ["cifar10", "mnist"]), None);
/// ```
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = |s: &str| -> Vec<char> {
        s.chars().flat_map(char::to_lowercase).filter(|c| !matches!(c, '-' | '_' | ' ')).take(64).collect()
    };
    let name = letters(name);
    let (changes, nearest) =
        names.into_iter().map(|n| (changes(&name, &letters(n)), n)).min_by_key(|(changes, _)| *changes)?;
    (changes <= name.len() / 3).then_some(nearest)
}

/// Letters to insert, remove, replace or swap with a neighbour to get from `a` to `b`.
fn changes(a: &[char], b: &[char]) -> usize {
    // From the first `i` letters of `a` to the first `j` of `b`.
    let mut from: Vec<Vec<usize>> =
        (0..=a.len()).map(|i| (0..=b.len()).map(|j| i.max(j)).collect()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = from[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            let swapped = if swap { from[i - 2][j - 2] + 1 } else { usize::MAX };
            from[i][j] = replaced.min(swapped).min(from[i][j - 1] + 1).min(from[i - 1][j] + 1);
        }
    }
    from[a.len()][b.len()]
}
