"""Passwords: at least 10 characters, common ones refused (decisions, "Accounts")."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import zxcvbn
from hypothesis import given, settings
from hypothesis import strategies as st

from testimonials.auth import credentials
from testimonials.auth.credentials import (
    find_password_problem,
    hash_password,
    is_guessable,
    is_password,
)
from testimonials.core.images import worker
from tests.conftest import QUICK_METHOD
from tests.support.sampling import rounds

PASSWORD = "three blue wardrobes"
EMAIL = "owner@example.com"


def test_good_passwords_are_taken_and_common_ones_refused():
    for password in (
        PASSWORD, "correct horse battery", "dX8#kq02mz", "пароль из трёх слов", PASSWORD * 50,
        "dX8#kq02m😀",
    ):  # fmt: skip
        assert find_password_problem(password, EMAIL) is None, password
    for password in (
        "password12", "1234567890", " " * 20, "Passw0rd123!", "Summer2024!!", "!!Welcome2031",
    ):  # fmt: skip
        assert "easy to guess" in (find_password_problem(password, EMAIL) or ""), password
    assert find_password_problem("dX8#kq02m", EMAIL) == "Use at least 10 characters; this has 9."
    for password in (EMAIL, EMAIL.upper(), f"my {EMAIL}!", "example.com"):
        assert "email address" in (find_password_problem(password, EMAIL) or ""), password


@pytest.mark.parametrize(
    "password",
    [
        *("Testimonials2026", "Marigold2026!!", "MarigoldRoasters", "Marigold-Roasters-2026"),
        *("marigold-roasters.shop", "Quillfeather1987", "quillfeather.kew!", "Shopwise2026!"),
    ],
)
def test_what_is_known_of_the_owner_is_refused(password):
    names = ["testimonials", "Marigold Roasters", "https://www.shopwise.example/marigold"]
    email = "quillfeather@kew.example"
    assert "easy to guess" in (find_password_problem(password, email, names) or "")
    assert find_password_problem("Marigold tango wardrobe", email, names) is None


def test_passwords_are_judged_although_the_process_for_it_is_killed(monkeypatch):
    monkeypatch.setattr(worker, "SECONDS", 0.001)
    worker.decoder.close()
    assert find_password_problem(PASSWORD, EMAIL) is None
    assert "easy to guess" in (find_password_problem("password12", EMAIL) or "")
    worker.decoder.close()


def test_no_password_waits_for_a_picture():
    with ThreadPoolExecutor() as threads, worker.decoder.turns:
        assert threads.submit(find_password_problem, PASSWORD, EMAIL).result(timeout=60) is None


def test_no_password_keeps_the_judge_busy(monkeypatch):
    """Judging takes seconds for a hundred letters: one person could stop the service for all."""
    judged = []

    def judge(password: str, words: list[str]) -> dict[str, object]:
        judged.append(max(map(len, (password, *words))))
        return {"score": 4, "sequence": []}

    monkeypatch.setattr(zxcvbn, "zxcvbn", judge)
    is_guessable("4@8({[<3691!a" * 70, ["x" * 24])
    is_guessable(f"{'w' * 500}2024!!", [])
    assert max(judged) == 24


def test_a_hash_is_salted_scrypt_and_holds_no_password():
    first, second = hash_password(PASSWORD), hash_password(PASSWORD)
    assert first != second
    # 32 MiB and a good part of a second for each guess.
    assert first.startswith("scrypt:32768:8:3$")
    assert "wardrobes" not in first
    assert is_password(first, PASSWORD)
    assert not is_password(first, PASSWORD.capitalize())


@settings(max_examples=rounds(8, 25), deadline=None)
@given(st.text(max_size=40), st.text(max_size=20))
def test_whatever_is_typed_is_judged_without_failing(password, email):
    problem = find_password_problem(password, email)
    assert problem is None or problem.endswith(".")


def test_what_is_too_long_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(credentials, "_normalize", pytest.fail)
    monkeypatch.setattr(credentials, "decoder", None)
    for password in ("x" * 1025, "é" * 513, "a" + "\u0315\u0300" * 110_000):
        assert is_password("scrypt:1024:8:1$salt$00", password) is False
        assert "at most 1024" in (find_password_problem(password, EMAIL) or "")


def test_the_longest_and_one_of_another_keyboard_count(monkeypatch):
    monkeypatch.setattr(credentials, "METHOD", QUICK_METHOD)
    assert is_password(hash_password("cafe\u0301 noir, deux"), "caf\u00e9 noir, deux")
    password = ("wardrobe é " * 100)[:900]
    password += "x" * (1024 - len(password.encode()))
    assert find_password_problem(password, EMAIL) is None
    assert is_password(hash_password(password), password)
