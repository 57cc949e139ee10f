// Applications with the vendors' names also get the names of this library. The names of VideoKit (`PlayerProtocol`,
// `PlayerObserver`, `PlayerState`, `Video`, `AspectMode`) are the same in `PCastPlayback`.
@_exported public import PCast
@_exported public import PCastPlayback
