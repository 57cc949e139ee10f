import PCastCore

extension APIError {
    static func rateLimited(retryAfter wait: TimeSpan) -> APIError {
        APIError(.rateLimited, "Too many requests: try again later, and less often.", retryAfter: wait)
    }

    /// The platform is stopping, and another one may start at the same address.
    static let draining = APIError(
        .capacity, "The platform is closing for maintenance: try again soon.", detail: "the platform is closing",
        retryAfter: .seconds(5))

    static let noBitrate = APIError(
        .capacity, "There is no bitrate left for another stream: try again later.")

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
        return APIError(.capacity, "\(whose) has as many \(what) as it may have: try again later.")
    }
}
