"""What every file for Rocq begins with: lemmas on square roots, and the tactics that the proofs call.

Nothing here is assumed: the lemmas are proved in the file, and a tactic that errs gives no proof.
"""

PRELUDE = r"""Require Import Reals Lra Psatz PeanoNat.
Open Scope R_scope.

Lemma root_unique : forall x y : R, 0 <= x -> 0 <= y -> x ^ 2 = y ^ 2 -> x = y.
Proof. intros x y Hx Hy H. apply Rsqr_inj; auto. unfold Rsqr. lra. Qed.

Lemma root_exists : forall p : R, 0 <= p -> exists r, 0 <= r /\ r ^ 2 = p.
Proof.
  intros p H. exists (sqrt p). split; [apply sqrt_pos |].
  simpl. rewrite Rmult_1_r. apply sqrt_sqrt, H.
Qed.

Lemma root_positive : forall r p : R, 0 <= r -> r ^ 2 = p -> 0 < p -> 0 < r.
Proof. intros r p Hr H Hp. destruct Hr as [Hr | Hr]; [exact Hr |]. subst r. nra. Qed.

Lemma square_positive : forall x : R, x <> 0 -> 0 < x ^ 2.
Proof. intros x H. nra. Qed.

Lemma even_power : forall (x : R) (n : nat), x <> 0 -> Nat.even n = true -> 0 < x ^ n.
Proof.
  intros x n Hx Hn. apply Nat.even_spec in Hn. destruct Hn as [m Hm]. subst n.
  rewrite pow_mult. apply pow_lt, square_positive, Hx.
Qed.

Lemma odd_power : forall (x : R) (n : nat), 0 < - x -> Nat.odd n = true -> 0 < - x ^ n.
Proof.
  intros x n Hx Hn. apply Nat.odd_spec in Hn. destruct Hn as [m Hm]. subst n.
  rewrite pow_add, pow_mult, pow_1.
  assert (0 < (x ^ 2) ^ m) by (apply pow_lt, square_positive; lra). nra.
Qed.

Lemma product_of_negatives : forall x y : R, 0 < - x -> 0 < - y -> 0 < x * y.
Proof. intros. nra. Qed.

Lemma opposite_of_product : forall x y : R, 0 < - x -> 0 < y -> 0 < - (x * y).
Proof. intros. nra. Qed.

Lemma opposite_of_product_r : forall x y : R, 0 < x -> 0 < - y -> 0 < - (x * y).
Proof. intros. nra. Qed.

Lemma inverse_of_negative : forall x : R, 0 < - x -> 0 < - / x.
Proof. intros x H. rewrite <- Rinv_opp. apply Rinv_0_lt_compat, H. Qed.

Lemma not_zero : forall x : R, 0 < - x -> x <> 0.
Proof. intros. lra. Qed.

Lemma positive_as : forall x z : R, x = z -> 0 < z -> 0 < x.
Proof. intros. lra. Qed.

Lemma larger : forall x y z : R, x - y = z -> 0 < z -> y < x.
Proof. intros. lra. Qed.

Lemma not_smaller : forall x y z : R, x - y = z -> 0 <= z -> y <= x.
Proof. intros. lra. Qed.

Lemma different : forall x y z : R, x - y = z -> z <> 0 -> x <> y.
Proof. intros x y z H Hz E. apply Hz. lra. Qed.

Lemma root_dominates : forall p a b r q z : R,
  p = a + b * r -> 0 < b -> 0 <= r -> r ^ 2 = q -> b ^ 2 * q - a ^ 2 = z -> 0 < z -> 0 < p.
Proof.
  intros p a b r q z Hp Hb Hr Hq Hz Pz. subst p.
  destruct (Rle_lt_dec 0 a) as [Ha | Ha].
  - assert (r <> 0) by (intro E; subst r; nra). assert (0 < r) by lra. nra.
  - assert (0 <= b * r) by nra. apply Rnot_le_lt. intro N. nra.
Qed.

Lemma root_dominated : forall p a b r q z : R,
  p = a - b * r -> 0 < a -> 0 < b -> 0 <= r -> r ^ 2 = q -> a ^ 2 - b ^ 2 * q = z -> 0 < z -> 0 < p.
Proof.
  intros p a b r q z Hp Ha Hb Hr Hq Hz Pz. subst p.
  assert (0 <= b * r) by nra. apply Rnot_le_lt. intro N. nra.
Qed.

Ltac known := first [assumption | lra].

(* What is to be tried last: nothing, or a search that takes seconds. *)
Ltac nothing := fail.
Ltac search := timeout 3 nra.

Ltac pos_with last :=
  first
  [ known
  | lazymatch goal with
    | |- _ /\ _ => split; pos_with last
    | |- 0 < _ * _ => first [apply Rmult_lt_0_compat; pos_with last | apply product_of_negatives; pos_with last]
    | |- 0 < - (_ * _) => first [apply opposite_of_product; pos_with last | apply opposite_of_product_r; pos_with last]
    | |- 0 < - - _ => rewrite Ropp_involutive; pos_with last
    | |- 0 < _ / _ => unfold Rdiv; pos_with last
    | |- 0 < - (_ / _) => unfold Rdiv; pos_with last
    | |- 0 < - / _ => apply inverse_of_negative; pos_with last
    | |- 0 < / _ => apply Rinv_0_lt_compat; pos_with last
    | |- 0 < _ ^ 2 => apply square_positive; nonzero_with last
    | |- 0 < _ ^ _ => first [apply pow_lt; pos_with last | apply even_power; [nonzero_with last | reflexivity]]
    | |- 0 < - _ ^ _ => apply odd_power; [pos_with last | reflexivity]
    | |- 0 < _ + _ =>
        first
        [ apply Rplus_lt_0_compat; pos_with last
        | apply Rplus_lt_le_0_compat; pos_with last
        | apply Rplus_le_lt_0_compat; pos_with last ]
    | |- 0 <= - _ => apply Rlt_le; pos_with last
    | |- 0 <= _ * _ => first [apply Rmult_le_pos; pos_with last | apply Rlt_le; pos_with last]
    | |- 0 <= _ / _ => first [apply Rmult_le_pos; pos_with last | apply Rlt_le; pos_with last]
    | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat; pos_with last
    | |- 0 <= _ ^ 2 => apply pow2_ge_0
    | |- 0 <= _ ^ _ => apply pow_le; pos_with last
    | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; pos_with last
    | |- _ <> 0 => nonzero_with last
    end
  | last ]
with nonzero_with last :=
  first
  [ assumption
  | lra
  | lazymatch goal with
    | |- _ /\ _ => split; nonzero_with last
    | |- _ * _ <> 0 => apply Rmult_integral_contrapositive_currified; nonzero_with last
    | |- _ / _ <> 0 => apply Rmult_integral_contrapositive_currified; nonzero_with last
    | |- / _ <> 0 => apply Rinv_neq_0_compat; nonzero_with last
    | |- _ ^ _ <> 0 => apply pow_nonzero; nonzero_with last
    | |- - _ <> 0 => apply Ropp_neq_0_compat; nonzero_with last
    end
  | apply Rgt_not_eq; pos_with last
  | apply not_zero; pos_with last
  | match goal with
    | H : _ <> 0 |- _ <> 0 =>
        let Z := fresh in intro Z; apply H; clear H;
        first [lra | (field_simplify_eq; [lra | nonzero_with last ..])]
    end
  | last ].

Ltac quick_pos := pos_with nothing.
Ltac quick_nonzero := nonzero_with nothing.
Ltac pos := first [pos_with nothing | pos_with search].
Ltac nonzero := first [nonzero_with nothing | nonzero_with search].
"""

PRELUDE += r"""
Lemma debt : forall A B : Prop, A -> (A -> B) -> A /\ B.
Proof. auto. Qed.

Lemma negative : forall x : R, 0 < - x -> x < 0.
Proof. intros. lra. Qed.

Lemma not_positive : forall x : R, 0 <= - x -> x <= 0.
Proof. intros. lra. Qed.

Lemma solved : forall f x v : R, f <> 0 -> f * x = v -> x = v / f.
Proof. intros f x v Hf H. subst v. field. exact Hf. Qed.

Ltac holds :=
  lazymatch goal with
  | |- True => exact I
  | |- _ /\ _ => split; holds
  | |- _ <> 0 => nonzero
  | |- _ = 0 => first [lra | ring | timeout 5 nra]
  | |- 0 < _ => pos
  | |- 0 <= _ => pos
  | |- _ > 0 => unfold Rgt; pos
  | |- _ >= 0 => apply Rle_ge; pos
  | |- _ < 0 => apply negative; pos
  | |- _ <= 0 => apply not_positive; pos
  | |- ~ _ => let Z := fresh in intro Z; first [lra | timeout 5 nra]
  | |- _ => first [lra | timeout 5 nra]
  end.

Ltac quickly :=
  match goal with
  | |- _ <> 0 => quick_nonzero
  | |- 0 <= _ => quick_pos
  | |- 0 < _ => quick_pos
  end.

Ltac owed :=
  match goal with
  | |- _ <> 0 => nonzero
  | |- 0 <= _ => pos
  | |- 0 < _ => pos
  end.

Ltac use_by hyp tactic :=
  match type of hyp with
  | ?condition -> _ => let c := fresh "c" in assert (c : condition) by tactic; specialize (hyp c)
  end.

Ltac use hyp := use_by hyp ltac:(idtac; holds).

Ltac solve_for hyp x := apply solved in hyp; [subst x | nonzero].

Ltac positive_root hyp r :=
  let p := fresh "p" in
  assert (p : 0 < r) by (refine (root_positive _ _ _ hyp _); [assumption | pos]).
"""
