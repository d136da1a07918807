//! `ndarray` in and out, behind the feature of that name.

use ndarray::{Array2, ArrayView2, array};
use tractable::{Activation, Error, Input, Matrix, Network};

#[test]
fn views_go_in_and_come_out() {
    let x = array![[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]];
    let net = Network::mlp([2, 8, 1], Activation::Relu).seed(1).build().unwrap();
    let out = net.predict(Input::try_from(x.view()).unwrap()).unwrap();
    assert_eq!(out.output().mean_view().dim(), (3, 1));
    assert_eq!(out.output().var_view().iter().copied().collect::<Vec<_>>(), out.var());
    let copy = Matrix::try_from(x.view()).unwrap();
    assert_eq!(net.predict(&copy).unwrap(), out);
    assert_eq!(ArrayView2::from(&copy), x);
    assert_eq!(Array2::from(copy), x);
}

#[test]
fn other_layouts_are_copied_or_refused() {
    let x = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(Matrix::try_from(x.t()).unwrap().data(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    let refused = Input::try_from(x.t()).unwrap_err();
    assert!(refused.to_string().contains("rows are not contiguous"), "{refused}");
    // Some of the rows are contiguous too.
    assert_eq!(Input::try_from(x.slice(ndarray::s![1.., ..])).unwrap().mean(), [4.0, 5.0, 6.0]);
}

#[test]
fn bad_numbers_and_empty_arrays_are_refused() {
    let nan = array![[1.0, f64::NAN]];
    assert!(matches!(Input::try_from(nan.view()), Err(Error::NotFinite { column: 1, .. })));
    assert!(matches!(Matrix::try_from(nan.view()), Err(Error::NotFinite { column: 1, .. })));
    let none = Array2::<f64>::zeros((3, 0));
    assert!(Matrix::try_from(none.view()).is_err() && Input::try_from(none.view()).is_err());
}
