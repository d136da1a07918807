//! Attacks on many images, some at a time.

use tractable::attack::{self, Budget, Settings, Targets};
use tractable::{Activation, Network};
use tractable_cli::attack::{Choice, Job, Method};

/// More images than are attacked at a time have the targets that the library draws for all of them.
#[test]
fn random_targets_do_not_depend_on_how_many_are_attacked_at_a_time() {
    let images = tractable::data::digits(69, 0).unwrap();
    let net = Network::mlp([images.shape().len(), 4, 10], Activation::Relu).classes(10).build().unwrap();
    let settings = Settings::new().iterations(1).budget(Budget::Linf(0.01));
    for seed in [0, 7] {
        let job = Job {
            net: &net,
            images: &images,
            choice: Choice::Random,
            method: Method::Fgsm,
            settings: settings.clone(),
            seed,
            random_start: false,
            budget: None,
            quiet: true,
        };
        let Ok((_, records)) = job.run(|_, _, _| {}) else { panic!("refused") };
        let (x, labels) = (images.matrix(0..images.len()).unwrap(), images.labels());
        let all = attack::fgsm(&net, &x, &Targets::random(&labels, seed), &settings).unwrap();
        let [ours, drawn]: [Vec<_>; 2] =
            [records.iter().map(|r| r.target).collect(), all.iter().map(|a| a.target).collect()];
        assert_eq!(ours, drawn);
    }
}
