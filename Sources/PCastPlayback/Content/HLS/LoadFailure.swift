internal import PCastHLS

/// A failure to load a resource of a presentation.
struct LoadFailure: Error {
    var failure: ReloadFailure
    /// The reason, for people.
    var reason: String
    /// Whether the resource was loaded but cannot be decrypted.
    var isUndecipherable = false
    /// The address of the resource; nil if it is unknown.
    var uri: String?

    /// Whether a retry is useless.
    var isFinal: Bool { isUndecipherable || failure.isFinal }

    /// Whether a retry is useless for media on demand.
    var isFinalOnDemand: Bool { isUndecipherable || failure.isFinalOnDemand }

    /// Whether a resource was loaded and a retry would load the same.
    var isAboutContent: Bool { if case .unreadable = failure { true } else { isFinal } }

    /// Returns the error for the player. `item` is the name of the item, for a failure without an address.
    func playbackError(_ item: String) -> PlaybackError {
        // A data URI contains the resource itself and has no name.
        let name = uri.flatMap { $0.hasPrefix("data:") ? nil : ContentAddress($0).name } ?? item
        if isUndecipherable { return .notPlayable(name, reason: reason) }
        if case .status = failure, let uri, URIReference(uri).isFile { return .unreachable(name, reason: reason) }
        switch failure {
        case .status(let status, _): return .refused(name, status: status)
        case .unreadable(let error): return .brokenPlaylist(name, reason: "\(error)")
        case .unreachable, .timeout, .invalidURI: return .unreachable(name, reason: reason)
        }
    }
}
