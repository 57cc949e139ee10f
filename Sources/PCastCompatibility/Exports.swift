/// Who writes by the vendors' names has ours as well. VideoKit's (`PlayerProtocol`, `PlayerObserver`, `PlayerState`,
/// `Video`, `AspectMode`) are the same here and there, and stand in `PCastPlayback`.
@_exported public import PCast
@_exported public import PCastPlayback
