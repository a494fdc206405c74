"""Versions of the widget's script."""

from datetime import datetime

from sqlalchemy import LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from testimonials.core.data.database import Base, Timestamp, present


class WidgetScript(Base):
    """A version of the script that this service has served.

    Websites that pin a version by its digest still get it after an upgrade.
    """

    __tablename__ = "widget_script"

    digest: Mapped[str] = mapped_column(String(16), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=present)
