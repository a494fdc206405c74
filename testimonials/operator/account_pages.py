"""The operator's pages about accounts: searching, looking at one, suspending and restoring it."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from testimonials.auth.sign_in.sessions import SignedIn
from testimonials.core.web.errors import ValidationFailed
from testimonials.core.web.response_headers import answer_privately
from testimonials.dashboard.guards import require_proof
from testimonials.dashboard.notices import add_notice, read_notice
from testimonials.extensions import begin_write, db
from testimonials.operator.accounts_view import describe_account, list_accounts
from testimonials.operator.guards import operator_shell, require_operator
from testimonials.operator.suspending import restore_account, suspend_account

operator_accounts = Blueprint("operator_accounts", __name__)

LIST = "operator_accounts.show_accounts"


@operator_accounts.get("/operator/accounts")
@require_operator
def show_accounts(owner: SignedIn) -> ResponseReturnValue:
    shell = operator_shell(owner, "accounts")
    return render_template("operator/accounts.html", shell=shell, **list_accounts(request.args))


@operator_accounts.get("/operator/accounts/<account_id>")
@require_operator
def show_account(owner: SignedIn, account_id: str) -> ResponseReturnValue:
    return answer_privately(_page(owner, account_id))


@operator_accounts.post("/operator/accounts/<account_id>/suspend")
@require_operator
@require_proof("suspend an account", LIST)
def suspend(owner: SignedIn, account_id: str) -> ResponseReturnValue:
    hides = request.form.get("widgets") == "hide"
    begin_write()
    try:
        suspend_account(account_id, request.form.get("reason", ""), hides_widgets=hides)
    except ValidationFailed as error:
        db.session.rollback()
        return answer_privately(_page(owner, account_id, error.errors), 422)
    db.session.commit()
    return _go_back(account_id, "Suspended")


@operator_accounts.post("/operator/accounts/<account_id>/restore")
@require_operator
@require_proof("restore an account", LIST)
def restore(owner: SignedIn, account_id: str) -> ResponseReturnValue:
    begin_write()
    restore_account(account_id)
    db.session.commit()
    return _go_back(account_id, "Restored")


def _page(owner: SignedIn, account_id: str, errors: object = None) -> str:
    return render_template(
        "operator/account.html",
        shell=operator_shell(owner, "accounts"),
        notice=read_notice(),
        errors=errors or {},
        typed=request.form,
        **describe_account(account_id),
    )


def _go_back(account_id: str, words: str) -> ResponseReturnValue:
    page = url_for(".show_account", account_id=account_id)
    return redirect(add_notice(page, words), 303)
