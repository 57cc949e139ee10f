import PCastMedia
import PCastSignaling
import PCastWebRTC

/// Why a door stayed shut: what its visitor is told, and, for the log alone, which restriction it was.
struct Refusal: Error, Sendable {
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
    }

    let kind: Kind
    /// For the visitor; says what to do next, and nothing of what a token holds.
    let message: String
    /// For the log.
    let detail: String
    /// When it is worth while to ask again; nil where that is not known.
    let retryAfter: TimeSpan?
    /// The sections of the visitor's description that cannot be accepted.
    let sections: [SectionProblem]

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

    /// Nothing of a description can be used, or only a part of what it is about.
    static func unacceptable(_ sections: [SectionProblem]) -> Refusal {
        let told = sections.prefix(toldSections).map(\.description).joined(separator: " ")
        return Refusal(.unsupported, told, sections: Array(sections.prefix(toldSections)))
    }

    /// The most sections that are named.
    private static let toldSections = 8

    static let noToken = Refusal(.unauthorized, "A token is needed: send it as “Authorization: Bearer …”.")

    static func token(_ detail: String) -> Refusal {
        Refusal(.unauthorized, "The token is not valid for this.", detail: detail)
    }

    static let ended = Refusal(.gone, "The session has ended, or never was.")

    static let noStream = Refusal(.noStreamPlaying, "No such stream is playing.")

    /// As the protocol says it.
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
        case .notReady: .notReady
        }
    }

    /// The word of the protocol's responses, which says more than the status does.
    var wire: String { kind == .unsupported ? "unsupported-features" : status.wire }
}
