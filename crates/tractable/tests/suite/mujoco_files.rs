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
    let deep = |n: usize| format!("{}{}", "<body>".repeat(n), "</body>".repeat(n));
    let repeated =
        |n: usize| format!("{}<geom/>{}", r#"<replicate count="100">"#.repeat(n), "</replicate>".repeat(n));
    inside(dir.path(), &deep(200)).unwrap();
    inside(dir.path(), &repeated(2)).unwrap();
    for (body, says) in [
        ("".to_string(), "MuJoCo model"),
        ("arm".into(), "MuJoCo model"),
        ("<mujoco>".into(), "MuJoCo model"),
        ("<mujoco><body></mujoco></body>".into(), "MuJoCo model"),
        (r#"<!DOCTYPE a [<!ENTITY b "c">]><mujoco/>"#.into(), "DTD"),
        (deep(202), "more than 200 elements around it"),
        ("<mujoco>".to_string() + &"<geom/>".repeat(200_001) + "</mujoco>", "nodes limit"),
        (format!("<mujoco {}/>", (0..1001).map(|i| format!("a{i}='' ")).collect::<String>()), "too many"),
        ("<mujoco>".to_string() + &"<geom a='' b='' c='' d=''/>".repeat(130_000) + "</mujoco>", "too many"),
        (repeated(4), "more than a million copies"),
        (r#"<mujoco><replicate count="2e9"/></mujoco>"#.into(), "is too large"),
        (r#"<mujoco><composite count="1000 1000 10"/></mujoco>"#.into(), "more than a million copies"),
        (r#"<mujoco><replicate count="&#49;0000000"/></mujoco>"#.into(), "more than a million copies"),
        (r#"<mujoco><replicate count="many"/></mujoco>"#.into(), "no number"),
        (r#"<mujoco><replicate count="inf"/></mujoco>"#.into(), "no number"),
        (r#"<mujoco><replicate count="NaN"/></mujoco>"#.into(), "no number"),
        (r#"<texture width="100000" height="100000"/>"#.into(), "more than 2^24 points"),
        (r#"<hfield nrow="5000" ncol="5000"/>"#.into(), "more than 2^24 points"),
        (r#"<numeric size="2000000000"/>"#.into(), "is too large"),
        (r#"<size memory="100G"/>"#.into(), "is too large"),
        (r#"<size nconmax="1000000000"/>"#.into(), "is too large"),
        (r#"<user dim="1000000000"/>"#.into(), "is too large"),
        (r#"<mesh file="/etc/passwd"/>"#.into(), "leads out of the model's folder"),
        (r#"<mesh file="a/../../b"/>"#.into(), "leads out of the model's folder"),
        (r#"<texture fileup="..\a"/>"#.into(), "leads out of the model's folder"),
        (r#"<compiler meshdir="../assets"/>"#.into(), "leads out of the model's folder"),
        (r#"<include file="../model.xml"/>"#.into(), "leads out of the model's folder"),
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
    let other = |text: &str| std::fs::write(dir.path().join("other.xml"), text).unwrap();
    let many = |n: usize| format!("<mujoco>{}</mujoco>", "<geom/>".repeat(n));
    let model = r#"<mujoco><replicate count="1000"><include file="other.xml"/></replicate></mujoco>"#;
    other(&many(900));
    inside(dir.path(), model).unwrap();
    other(&many(1100));
    assert!(inside(dir.path(), model).unwrap_err().to_string().contains("other.xml"));
    other(r#"<mujoco><mesh file="/etc/passwd"/></mujoco>"#);
    assert!(inside(dir.path(), model).unwrap_err().to_string().contains("leads out"));
    // Itself, and in a circle: looked at once. What is not there is for MuJoCo to say.
    other(
        r#"<mujoco><include file="model.xml"/><include file="other.xml"/><include file="none.xml"/></mujoco>"#,
    );
    inside(dir.path(), model).unwrap();
}
