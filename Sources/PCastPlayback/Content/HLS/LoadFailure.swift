internal import PCastHLS

/// Why a resource of a presentation was not had.
struct LoadFailure: Error {
    var failure: ReloadFailure
    /// For people.
    var reason: String
    /// It came, and cannot be deciphered by whoever asks.
    var isUndecipherable = false

    /// Whether asking again may help.
    var isFinal: Bool { isUndecipherable || failure.isFinal }

    /// Something came, and asking again brings the same.
    var isAboutContent: Bool { if case .unreadable = failure { true } else { isFinal } }

    func playbackError(_ name: String) -> PlaybackError {
        if isUndecipherable { return .notPlayable(name, reason: reason) }
        switch failure {
        case .status(let status, _): return .refused(name, status: status)
        case .unreadable(let error): return .brokenPlaylist(name, reason: "\(error)")
        case .unreachable, .timeout: return .unreachable(name, reason: reason)
        }
    }
}
