internal import PCastHLS

/// Why a resource of a presentation was not had.
struct LoadFailure: Error {
    var failure: ReloadFailure
    /// For people.
    var reason: String
    /// It came, and cannot be deciphered by whoever asks.
    var isUndecipherable = false
    /// What was asked for; nil where it was nothing in particular.
    var uri: String?

    /// Whether asking again may help.
    var isFinal: Bool { isUndecipherable || failure.isFinal }

    /// The same of what is not being made any more.
    var isFinalOnDemand: Bool { isUndecipherable || failure.isFinalOnDemand }

    /// Something came, and asking again brings the same.
    var isAboutContent: Bool { if case .unreadable = failure { true } else { isFinal } }

    /// - Parameter name: of the item, where the failure tells no address.
    func playbackError(_ item: String) -> PlaybackError {
        // A resource that stands within its address has no name.
        let name = uri.flatMap { $0.hasPrefix("data:") ? nil : ContentAddress.withoutSecrets(URIReference($0)) } ?? item
        if isUndecipherable { return .notPlayable(name, reason: reason) }
        switch failure {
        case .status(let status, _): return .refused(name, status: status)
        case .unreadable(let error): return .brokenPlaylist(name, reason: "\(error)")
        case .unreachable, .timeout, .invalidURI: return .unreachable(name, reason: reason)
        }
    }
}
