/// What overlays say is part of this library's interface: who imports it has the messages, errors and states as well.
@_exported public import PCastOverlay
