/// The messages, errors and states of overlays are part of this library's interface.
@_exported public import PCastOverlay
