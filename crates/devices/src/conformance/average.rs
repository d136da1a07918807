//! Averages of parameters, and statistics that are recomputed.

use super::*;

/// Parameters that follow others, and statistics that follow a batch.
#[test]
fn averages_agree() {
    let window = Window { kernel: 3, stride: 1, padding: Padding::Around(1) };
    for map in [
        Map { input: Shape::flat(37), output: Shape::flat(45), window: None },
        Map { input: Shape::image(3, 4, 5), output: Shape::image(7, 4, 5), window: Some(window) },
    ] {
        let (p, more, shape) = (parameters(&map, 1), parameters(&map, 2), map.output);
        let (case, channels) = (Case::new(map.output, map.output, 6, false, 3), shape.channels);
        let of_norm = |seed: u64| {
            let mut n = Numbers::new(seed);
            let [mean, bias_mean] = [0; 2].map(|_| n.draw(channels, -1.0, 1.0));
            let [var, bias_var] = [0; 2].map(|_| n.draw(channels, 0.1, 1.0));
            let statistics = Statistics {
                mean: n.draw(channels, -1.0, 1.0),
                var: n.draw(channels, 0.5, 2.0),
                momentum: 0.9,
                epsilon: 1e-5,
            };
            (Parameters { mean, var, bias_mean, bias_var }, statistics)
        };
        for share in [1.0, 0.3] {
            agree(&format!("averages of {map:?}, a share of {share}"), 1, |b| {
                on!(b, b => {
                    let (latest, mut average) = (filled(b, map, &p), filled(b, map, &more));
                    let [mut norm, mut its_average] = [4, 5].map(|seed| {
                        let (p, s) = of_norm(seed);
                        b.norm(&p, &s).unwrap()
                    });
                    let (mut status, mut scratch) = (Default::default(), Default::default());
                    b.map_average(&latest, &mut average, share, &mut status);
                    b.normalize_average(&norm, &mut its_average, share, &mut status);
                    let (x, mut z) = case.start(b);
                    b.normalize(&norm, &mut scratch, &x, &mut z, Purpose::Learn);
                    b.normalize_restate(&mut norm, &scratch, share);
                    let w = b.weights_parameters(&average, 0..usize::MAX).unwrap();
                    if share == 1.0 {
                        assert_eq!(w, b.weights_parameters(&latest, 0..usize::MAX).unwrap(), "a share of 1 copies");
                    }
                    let [(n, s), (_, batch)] = [&its_average, &norm].map(|norm| b.norm_parameters(norm).unwrap());
                    let mut out = vec![("weights", w.mean), ("their var", w.var), ("bias", w.bias_mean), ("its var", w.bias_var)];
                    out.extend([("scale", n.mean), ("its var", n.var), ("shift", n.bias_mean), ("its var", n.bias_var)]);
                    out.extend([("running mean", s.mean), ("running var", s.var), ("batch mean", batch.mean), ("batch var", batch.var)]);
                    out
                })
            });
        }
    }
}
