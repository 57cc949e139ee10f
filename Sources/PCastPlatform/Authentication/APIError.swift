import PCastCore
import PCastSignaling
import PCastWebRTC

/// An error of a request: the message for the client and the details for the log.
package struct APIError: Error, Sendable {
    enum Kind: Sendable {
        case badRequest
        case tooLarge
        case unauthorized
        case noStreamPlaying
        case gone
        case unsupported
        case capacity
        case rateLimited
        case conflict
        case failed
        case notReady
        /// The stream is packaged, and its playlist will exist soon.
        case playlistNotReady
        /// The stream is not packaged.
        case playlistUnavailable
    }

    let kind: Kind
    /// The message for the client. It says what to do next, and contains nothing of a token.
    let message: String
    /// The details for the log.
    let detail: String
    /// The time after which a retry is useful; nil if unknown.
    let retryAfter: TimeSpan?
    /// The media sections of the client's session description that cannot be accepted.
    let sections: [SectionProblem]
    /// Whether the client has reached a limit of its application or address, which another node must not extend.
    private(set) var isOfClientLimit = false

    init(
        _ kind: Kind, _ message: String, detail: String? = nil, retryAfter: TimeSpan? = nil,
        sections: [SectionProblem] = []
    ) {
        self.kind = kind
        self.sections = sections
        self.message = message
        self.detail = detail ?? message
        self.retryAfter = retryAfter
    }

    /// Returns the error for a session description of which nothing, or not all that was requested, can be accepted.
    static func unacceptable(_ sections: [SectionProblem]) -> APIError {
        let text = sections.prefix(maximumReportedSections).map(\.description).joined(separator: " ")
        return APIError(.unsupported, text, sections: Array(sections.prefix(maximumReportedSections)))
    }

    /// The maximum number of media sections in the message.
    private static let maximumReportedSections = 8

    static let noToken = APIError(.unauthorized, "A token is required: send it as “Authorization: Bearer …”.")

    static func token(_ detail: String) -> APIError {
        APIError(.unauthorized, "The token is not valid for this request: get a new one.", detail: detail)
    }

    static let ended = APIError(.gone, "The session does not exist or has ended.")

    static let noPlaylist = APIError(
        .playlistUnavailable,
        "The stream is not packaged for HLS: publish it with a token that has the capability “streaming”.")

    static let playlistNotReady = APIError(.playlistNotReady, "The playlist is not ready yet: retry in a second.")

    static let tooFarAhead = APIError(
        .badRequest, "The segment or part is too far ahead: request the next one.")

    static let expiredPath = APIError(
        .unauthorized, "The address has expired: load the multivariant playlist again.")

    static let noThumbnails = APIError(
        .playlistUnavailable, "There are no thumbnails: the platform has no program that makes them.")

    static let thumbnailNotReady = APIError(.playlistNotReady, "There is no key frame yet: retry in a second.")

    static let tooManyThumbnails = APIError(
        .capacity, "Too many thumbnails are being made: retry in a second.", retryAfter: .seconds(1 as Int64))

    static let noThumbnail = APIError(.failed, "The thumbnail could not be made: retry after the next key frame.")

    static let noStream = APIError(.noStreamPlaying, "The stream does not exist or is not live.")

    /// The status of the signaling protocol.
    var status: RequestStatus {
        switch kind {
        case .badRequest, .tooLarge: .badRequest
        case .unauthorized: .unauthorized
        case .noStreamPlaying: .noStreamPlaying
        case .gone: .gone
        case .unsupported: .badRequest
        case .capacity: .capacity
        case .rateLimited: .rateLimited
        case .conflict: .conflict
        case .failed: .failed
        case .notReady, .playlistNotReady: .notReady
        case .playlistUnavailable: .noStreamPlaying
        }
    }

    /// The status text of the signaling protocol, which is more specific than the status.
    var wire: String {
        switch kind {
        case .unsupported: "unsupported-features"
        case .playlistNotReady: "streaming-not-ready"
        case .playlistUnavailable: "streaming-not-available"
        default: status.wire
        }
    }
}

extension APIError {
    static func rateLimited(retryAfter wait: TimeSpan) -> APIError {
        APIError(.rateLimited, "Too many requests: retry later, and less often.", retryAfter: wait)
    }

    /// The platform is stopping, and another one may start at the same address, or an operator drains it.
    static let draining = APIError(
        .capacity, "The platform accepts no new clients during maintenance: retry soon.",
        detail: "the platform is drained",
        retryAfter: .seconds(5))

    /// Another node of the cluster serves the client.
    static let elsewhere = APIError(
        .capacity, "The node accepts no new clients: connect to the node to which it redirects.",
        detail: "the client is redirected to another node")

    static let noBitrate = APIError(
        .capacity, "The bit rate limit is reached, so no other stream is admitted: retry later.")

    static func full(_ kind: QuotaReservation.Kind, _ exceeded: UsageCounter.Exceeded) -> APIError {
        let what =
            switch kind {
            case .session: "sessions"
            case .stream: "streams"
            case .viewer, .preview: "viewers"
            case .connection: "connections"
            }
        let whose =
            switch exceeded {
            case .all: "The platform"
            case .application: "The application"
            case .address: "Your address"
            }
        var error = APIError(.capacity, "\(whose) has reached its limit of \(what): retry later.")
        error.isOfClientLimit = exceeded != .all
        return error
    }
}
