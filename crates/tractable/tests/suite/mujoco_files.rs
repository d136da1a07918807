//! Models are looked at before MuJoCo reads them; no MuJoCo is needed here.

use std::path::Path;
use tractable::rl::env::mujoco::screen;

const FINE: &str = r#"<?xml version="1.0"?>
<mujoco model="arm"><!-- <replicate count="9999999999"> -->
  <compiler meshdir="assets/meshes" texturedir="."/>
  <size memory="10M" njmax="8000" nconmax="4000" nstack="3000000" nkey="-1"/>
  <asset>
    <texture builtin="gradient" width="512" height="3072"/>
    <hfield name="ground" nrow="200" ncol="300" size="1 1 1 0.1"/>
    <mesh file="./link 1.stl"/>
  </asset>
  <custom><numeric name="start" size="7" data="0 1 2"/></custom>
  <worldbody>
    <replicate count="50"><replicate count="30"><geom size="0.1"/></replicate></replicate>
    <composite count="20 10 1"/>
  </worldbody>
  <tendon><spatial width="0.01"/></tendon>
</mujoco>"#;

fn inside(folder: &Path, body: &str) -> tractable::Result<()> {
    let path = folder.join("model.xml");
    std::fs::write(&path, body).unwrap();
    screen(&path)
}

#[test]
fn models_that_no_one_needs_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    inside(dir.path(), FINE).unwrap();
    inside(dir.path(), "<robot><mesh filename=\"package://arm/../meshes/x.stl\"/></robot>").unwrap();
    inside(dir.path(), "<mujoco><!-- -- joints -- --><compiler meshdir=\"../stls\"/></mujoco>").unwrap();
    std::fs::write(dir.path().join("latin.xml"), b"<mujoco model=\"\xe9\"/>").unwrap();
    screen(&dir.path().join("latin.xml")).unwrap();
    let deep = |n: usize| format!("{}{}", "<body>".repeat(n), "</body>".repeat(n));
    let repeated =
        |n: usize| format!("{}<geom/>{}", r#"<replicate count="100">"#.repeat(n), "</replicate>".repeat(n));
    inside(dir.path(), &deep(201)).unwrap();
    inside(dir.path(), &repeated(2)).unwrap();
    let in_mujoco = |text: &str, n: usize| format!("<mujoco>{}</mujoco>", text.repeat(n));
    for (body, says) in [
        ("".to_string(), "MuJoCo model"),
        ("arm".into(), "MuJoCo model"),
        ("<mujoco>".into(), "MuJoCo model"),
        ("<mujoco><body></mujoco></body>".into(), "MuJoCo model"),
        (r#"<!DOCTYPE a [<!ENTITY b "c">]><mujoco/>"#.into(), "a document type"),
        ("<mujoco><![CDATA[<a>]]></mujoco>".into(), "raw text"),
        ("<mujoco><!-- </mujoco>".into(), "a comment without an end"),
        (
            r#"<mujoco><a b="<!--"/><replicate count="1e9"/><a b="-->"/></mujoco>"#.into(),
            "inside of an element",
        ),
        (deep(202), "deeper than 200 elements"),
        (deep(90_000), "deeper than 200 elements"),
        (in_mujoco("<geom/>", 200_001), "nodes limit"),
        (in_mujoco("<", 500_000), "inside of an element"),
        (in_mujoco("<geom></geom>", 250_000), "more than 400000 elements"),
        (
            format!("<mujoco {}/>", (0..1001).map(|i| format!("a{i}='' ")).collect::<String>()),
            "1000 of one element",
        ),
        (in_mujoco("<geom a='' b='' c='' d=''/>", 130_000), "500000 attributes"),
        (in_mujoco("<a xmlns:b='c'/>", 17), "more than 16 namespaces"),
        (repeated(4), "more than a million copies"),
        (r#"<mujoco><replicate count="2e9"/></mujoco>"#.into(), "is too large"),
        (r#"<mujoco><composite count="1000 1000 10"/></mujoco>"#.into(), "is too large"),
        (in_mujoco(r#"<composite count="1000 90"/>"#, 20), "more than a million copies"),
        (r#"<mujoco><replicate count="&#49;0000000"/></mujoco>"#.into(), "more than a million copies"),
        (r#"<mujoco><replicate count="many"/></mujoco>"#.into(), "not a number"),
        (r#"<mujoco><replicate count="inf"/></mujoco>"#.into(), "not a number"),
        (r#"<mujoco><replicate count="NaN"/></mujoco>"#.into(), "not a number"),
        (r#"<texture type="2d" width="100000" height="100000"/>"#.into(), "sizes of more than"),
        (r#"<texture width="10900" height="1"/>"#.into(), "sizes of more than"),
        (r#"<texture width="wide"/>"#.into(), "not a number"),
        (in_mujoco(r#"<texture type="2d" width="4096" height="4096"/>"#, 9), "sizes of more than"),
        (r#"<hfield nrow="50000" ncol="50000"/>"#.into(), "sizes of more than"),
        (in_mujoco(r#"<numeric size="50000000"/>"#, 3), "sizes of more than"),
        (r#"<mesh builtin="supersphere" params="500000000 1 1"/>"#.into(), "sizes of more than"),
        (r#"<size memory="100g"/>"#.into(), "is too large"),
        (r#"<size nconmax="100000000"/>"#.into(), "is too large"),
        (r#"<size nkey="1000000"/>"#.into(), "is too large"),
        (r#"<size nuser_body="1000000"/>"#.into(), "is too large"),
        (r#"<user dim="1000000000"/>"#.into(), "is too large"),
        (r#"<mesh file="/dev/zero"/>"#.into(), "not a regular file"),
        (r#"<texture fileup="."/>"#.into(), "not a regular file"),
    ] {
        let why = inside(dir.path(), &body).unwrap_err().to_string();
        assert!(why.contains(says) && why.contains("model.xml"), "{}: {why}", &body[..body.len().min(60)]);
    }
    for path in [dir.path(), Path::new("/dev/null"), Path::new("no/such/model.xml")] {
        assert!(screen(path).is_err(), "{}", path.display());
    }
}

#[test]
fn what_is_included_counts() {
    let dir = tempfile::tempdir().unwrap();
    let other = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let many = |n: usize| format!("<mujoco>{}</mujoco>", "<geom/>".repeat(n));
    let model = r#"<mujoco><replicate count="1000"><Include file="other.xml"/></replicate></mujoco>"#;
    other("other.xml", &many(900));
    inside(dir.path(), model).unwrap();
    other("other.xml", &many(1100));
    assert!(inside(dir.path(), model).unwrap_err().to_string().contains("other.xml"));
    // Itself, and in a circle: looked at once. What is not there is for MuJoCo to say.
    let circle = r#"<mujoco><include file="model.xml"/><include file="other.xml"/><include file="none.xml"/></mujoco>"#;
    other("other.xml", circle);
    inside(dir.path(), model).unwrap();
    // Beside the file that includes it, and beside the model.
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    other("other.xml", r#"<mujoco><include file="sub/a.xml"/></mujoco>"#);
    other("sub/a.xml", r#"<mujoco><include file="b.xml"/></mujoco>"#);
    other("sub/b.xml", &many(1100));
    assert!(inside(dir.path(), model).unwrap_err().to_string().contains("b.xml"));
    // A model of its own, attached a thousand times.
    let attached = format!(r#"<mujoco><model file="sub/a.xml"/>{}</mujoco>"#, "<attach/>".repeat(1000));
    assert!(inside(dir.path(), &attached).unwrap_err().to_string().contains("b.xml"));
    other("sub/b.xml", &many(100));
    inside(dir.path(), &attached).unwrap();
}
