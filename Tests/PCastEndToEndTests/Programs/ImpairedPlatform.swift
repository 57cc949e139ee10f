import Foundation

/// A platform with two ways to it: a good one at 127.0.0.1, and one at 127.0.0.3 through `pcast-bench impair`.
///
/// Candidates name the second alone; who comes to the first is exempt from what the proxy does.
struct ImpairedPlatform: Sendable {
    let platform: LocalPlatform
    let proxy: RunningProgram
    /// Where clients come whose network is bad.
    let badURI: String
    /// When the proxy began to count.
    let start: Date

    private static let good = "127.0.0.1"
    private static let bad = "127.0.0.3"

    /// - Parameter changes: of the bad network, as `--at` takes them.
    static func start(in place: Workplace, changes: [String]) async throws -> ImpairedPlatform {
        let program = try place.pcast(
            "serve", "--listen", "\(good):0", "--rtc-port", "0", "--advertise", bad, "--application",
            LocalPlatform.application, limit: .longestSuite)
        let listening = try await program.event("listening")
        guard let uri = listening["uri"].text.flatMap({ URLComponents(string: $0) }), let port = uri.port,
            let media = listening["rtcPort"].number.map({ Int($0) })
        else { throw EndToEndFailure("the platform does not tell where it listens") }
        var arguments = ["impair", "--exempt", good, "--delay", "10ms", "--json"]
        for number in [port, media] { arguments += ["--listen", "\(bad):\(number)", "--to", "\(good):\(number)"] }
        for change in changes { arguments += ["--at", change] }
        let proxy = try place.start(BuiltProgram.path("pcast-bench"), arguments, limit: .longestSuite)
        let begun = try await proxy.event("listening")
        let goodURI = "http://\(good):\(port)"
        return ImpairedPlatform(
            platform: LocalPlatform(program, uri: goodURI, in: place), proxy: proxy,
            badURI: "http://\(bad):\(port)", start: try begun.time)
    }

    /// Seconds of the bad network's time at which a program told an event.
    func age(of event: JSON) throws -> Double { try event.time.timeIntervalSince(start) }

    /// `pcast publish` and `pcast subscribe` of what it publishes, when the picture is there; one of them on the bad way.
    func stream(isPublisherBad: Bool) async throws -> (publisher: RunningProgram, viewer: RunningProgram) {
        let place = platform.place
        let authentication = try await platform.authenticationToken()
        let publisher = try place.pcast(
            "publish", "--uri", isPublisherBad ? badURI : platform.uri, "--token", authentication, "--token",
            try await platform.publishingToken(), "--video", "synthetic", "--audio", "synthetic")
        guard let stream = try await publisher.event("publishing")["streamId"].text else {
            throw EndToEndFailure("the publisher does not tell its stream")
        }
        let viewer = try place.pcast(
            "subscribe", "--uri", isPublisherBad ? platform.uri : badURI, "--token", authentication, "--token",
            try await platform.viewingToken(stream))
        _ = try await viewer.event("firstFrame")
        return (publisher, viewer)
    }
}

extension RunningProgram {
    /// The first row of data quality of that kind since an age of the network.
    func quality(
        _ status: String, _ reasons: Set<String>, of network: ImpairedPlatform, since age: Double,
        within limit: Duration = .patience
    ) async throws -> Double {
        let told = try await self.event("dataQuality", within: limit) { event in
            event["status"].text == status && reasons.contains(event["reason"].text ?? "")
                && ((try? network.age(of: event)).map { $0 >= age } ?? false)
        }
        return try network.age(of: told) - age
    }

    /// The rows told so far, as "status reason".
    var qualities: [String] {
        events("dataQuality").map { "\($0["status"].text ?? "") \($0["reason"].text ?? "")" }
    }
}
