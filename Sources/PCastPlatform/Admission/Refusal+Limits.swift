import PCastMedia

extension Refusal {
    static func rateLimited(retryAfter wait: TimeSpan) -> Refusal {
        Refusal(.rateLimited, "Too many requests: try again later, and less often.", retryAfter: wait)
    }

    /// The platform is stopping, and another one may start at the same address.
    static let draining = Refusal(
        .capacity, "The platform is closing for maintenance: try again soon.", detail: "the platform is closing",
        retryAfter: .seconds(5))

    static let noBitrate = Refusal(
        .capacity, "There is no bitrate left for another stream: try again later.")

    static func full(_ kind: Seat.Kind, _ exceeded: Census.Exceeded) -> Refusal {
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
        return Refusal(.capacity, "\(whose) has as many \(what) as it may have: try again later.")
    }
}
