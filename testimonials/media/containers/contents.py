"""What was found in a recording's file."""

from dataclasses import dataclass, field


class Unreadable(ValueError):
    """The file is damaged, or not what its first bytes say."""


@dataclass
class Contents:
    """A file's container (`webm`, `mp4` or `ogg`), its codecs, and how long it really plays."""

    container: str
    video: list[str] = field(default_factory=list)
    audio: list[str] = field(default_factory=list)
    seconds: float = 0.0
    width: int | None = None
    height: int | None = None

    @property
    def kind(self) -> str:
        return "video" if self.video else "voice"

    @property
    def media_type(self) -> str:
        return f"{'video' if self.video else 'audio'}/{self.container}"

    @property
    def codecs(self) -> str:
        """The codecs as RFC 6381 writes them, as far as they are known."""
        return ", ".join([*self.video, *self.audio])
