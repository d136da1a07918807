//! The same cheetah as a MuJoCo model, from the same numbers.

use super::model::{self, HEIGHT, LEGS, LegLink, RADIUS, TIMESTEP};
use crate::physics::GRAVITY;

/// The model in MuJoCo's XML. Rust prints numbers so that they read back to the same bits.
pub(super) fn text() -> String {
    let (mut legs, mut motors) = (String::new(), String::new());
    for (p, leg) in LEGS.iter().enumerate() {
        for (i, link) in leg.iter().enumerate() {
            let name = format!("joint{}", 3 * p + i);
            legs += &open_link(link, &name);
            motors += &format!(
                r#"<motor joint="{name}" gear="{}" ctrllimited="true" ctrlrange="-1 1"/>"#,
                link.gear
            );
        }
        legs += &"</body>".repeat(leg.len());
    }
    let [friction, armature] = [model::FRICTION, model::ARMATURE];
    let density = model::density();
    format!(
        r#"<mujoco model="half cheetah">
<compiler angle="radian" inertiafromgeom="true"/>
<option gravity="0 0 -{GRAVITY}" timestep="{TIMESTEP}"/>
<default>
<joint type="hinge" axis="0 1 0" limited="true" armature="{armature}" solreflimit="0.02 1" solimplimit="0 0.8 0.03"/>
<geom type="capsule" contype="1" conaffinity="0" condim="3" friction="{friction} 0.1 0.1" solref="0.02 1"
 solimp="0 0.8 0.01" density="{density}"/>
</default>
<worldbody>
<geom type="plane" size="40 40 40" conaffinity="1"/>
<body pos="0 0 {HEIGHT}">
<joint type="slide" axis="1 0 0" limited="false" armature="0"/>
<joint type="slide" axis="0 0 1" limited="false" armature="0"/>
<joint type="hinge" axis="0 1 0" limited="false" armature="0"/>
<geom fromto="-0.5 0 0 0.5 0 0" size="{RADIUS}"/>
<geom pos="0.6 0 0.1" axisangle="0 1 0 0.87" size="{RADIUS} 0.15"/>
{legs}
</body>
</worldbody>
<actuator>{motors}</actuator>
</mujoco>
"#
    )
}

/// A link's opening tag, its joint and its shape.
fn open_link(link: &LegLink, name: &str) -> String {
    let LegLink { joint, centre, tilt, half_length, range: [low, high], damping, stiffness, .. } = link;
    format!(
        r#"<body pos="{} 0 {}"><joint name="{name}" range="{low} {high}" damping="{damping}" stiffness="{stiffness}"/>
<geom pos="{} 0 {}" axisangle="0 1 0 {tilt}" size="{RADIUS} {half_length}"/>
"#,
        joint.x, joint.z, centre.x, centre.z
    )
}
