//! The book's page about JSON Lines is the one that the types make.

#[test]
fn the_page_is_up_to_date() {
    let page = include_str!("../../../../docs/book/src/json.md");
    let made = tractable_harness::json::page();
    let differs = page.lines().zip(made.lines()).find(|(old, new)| old != new);
    assert!(page == made, "`cargo xtask json` writes it again; first: {differs:?}");
}
