//! The same cart and pole as a MuJoCo model, from the same numbers.

use super::model::{DAMPING, DENSITY, Model, RAIL, SWING, TIMESTEP, TIP};
use super::{GEAR, MAX_ACTION};
use crate::physics::GRAVITY;

/// The model in MuJoCo's XML. Rust prints numbers so that they read back to the same bits.
pub(super) fn text() -> String {
    let Model { cart, pole, .. } = Model::new();
    format!(
        r#"<mujoco model="inverted pendulum">
<compiler angle="radian" inertiafromgeom="true"/>
<option gravity="0 0 -{GRAVITY}" integrator="RK4" timestep="{TIMESTEP}"/>
<default>
<joint armature="0" damping="{DAMPING}" limited="true"/>
<geom type="capsule" contype="0" conaffinity="0" density="{DENSITY}"/>
</default>
<worldbody>
<body>
<joint name="slide" type="slide" axis="1 0 0" range="-{RAIL} {RAIL}"/>
<geom fromto="-{} 0 0 {} 0 0" size="{}"/>
<body>
<joint type="hinge" axis="0 1 0" range="-{SWING} {SWING}"/>
<geom fromto="0 0 0 {} 0 {}" size="{}"/>
</body>
</body>
</worldbody>
<actuator><motor joint="slide" gear="{GEAR}" ctrllimited="true" ctrlrange="-{MAX_ACTION} {MAX_ACTION}"/></actuator>
</mujoco>
"#,
        cart.half.x, cart.half.x, cart.radius, TIP.x, TIP.z, pole.radius
    )
}
