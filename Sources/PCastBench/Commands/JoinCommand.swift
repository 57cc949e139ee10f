import ArgumentParser
import PCast
import PCastCore
import PCastIO
import PCastJSON
import PCastTestSupport

/// `pcast-bench join` measures the time from subscribing to the first frame.
struct JoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Measure the time from subscribing to the first rendered frame, one viewer after another.",
        discussion: """
            Measured on loopback, and through a proxy that adds a round-trip time of 50 ms. Each is measured with a \
            session that starts in the same round trip, whose values are those of the result, and with an open \
            session. The joins are spread over time, so that they occur at any moment between two key frames. With \
            --chromium, it also measures Chromium in a network namespace, behind a link with the same round-trip \
            time: joins by WHEP, with and without DTLS in connectivity checks (SPED), and the time from the \
            navigation to a watch page to the first frame, by HTTP and by TLS.
            """)

    @Option(help: "Number of joins of each measurement.")
    var count = 50

    @Option(help: ArgumentHelp("Number of joins and navigations of Chromium in each measurement.", valueName: "count"))
    var chromium = 0

    @OptionGroup var options: ReportOptions

    /// The round-trip time that the proxy adds, and the time that a join may take beyond its round trips, in
    /// milliseconds.
    private static let addedRoundTrip = 50.0
    private static let allowance = 30.0
    /// The round trips of a join: the TCP connection, the request, ICE and DTLS. An open session needs no connection.
    private static let freshRoundTrips = 4.0
    private static let openRoundTrips = 3.0

    private static let targets = [
        Target("joinP50", .atMost(120)), Target("farJoinP50", .atMost(freshRoundTrips * addedRoundTrip + allowance)),
        Target("farOpenJoinP50", .atMost(openRoundTrips * addedRoundTrip + allowance)),
        Target("roundTrips", .atMost(freshRoundTrips + 0.5)),
    ]

    private struct Quantiles {
        let p50: Double?
        let p99: Double?

        init(_ waits: [Double]) {
            p50 = Percentile.of(waits, 0.5)
            p99 = Percentile.of(waits, 0.99)
        }
    }

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count must be at least 1.") }
        guard chromium >= 0 else { throw ValidationError("--chromium must be 0 or more.") }
    }

    func run() async throws {
        var report = Report(options)
        let near = try await measureLocal(&report)
        let (far, open) = try await measureRemote(&report)
        var values: [(key: String, value: Double?)] = [
            ("joinP50", near.p50), ("joinP99", near.p99), ("farJoinP50", far.p50), ("farJoinP99", far.p99),
            ("farOpenJoinP50", open.p50), ("roundTrips", Self.roundTrips(near: near.p50, far: far.p50)),
        ]
        var targets = Self.targets
        if chromium > 0 {
            values += try await measureChromium(&report)
            targets += ["pageP95", "securePageP95"].map { Target($0, .atMost(Self.pageLimit)) }
        }
        try report.finish(values, targets: targets)
    }

    /// The time that Chromium may take from a navigation to the first frame, in milliseconds.
    private static let pageLimit = 600.0

    /// The settings with which Chromium puts DTLS into connectivity checks, and offers no post-quantum keys. With these
    /// keys, its first message has two datagrams, and the second one waits for another check.
    private static let embedding = "--flag=--force-fieldtrials=WebRTC-IceHandshakeDtls/Enabled/"
    private static let shortHello = "--flag=--disable-features=WebRtcPqcForDtls"

    /// The kinds of offers: the name of the value, what follows the name of the row, and the settings of Chromium.
    private static let offers = [
        ("whepP50", "", []), ("whepWithSPEDP50", ", SPED", [embedding]),
        ("shortHelloWhepP50", ", no PQ keys", [shortHello]),
        ("shortHelloWhepWithSPEDP50", ", no PQ keys, SPED", [shortHello, embedding]),
    ]

    /// Measures Chromium in the network of a viewer.
    private func measureChromium(_ report: inout Report) async throws -> [(key: String, value: Double?)] {
        var values: [(key: String, value: Double?)] = []
        for isSecure in [false, true] {
            var options = NetworkTestbed.Options()
            options.conditions = LinkConditions(delay: .milliseconds(Int64(Self.addedRoundTrip / 2)))
            options.usesTLS = isSecure
            let testbed = try await NetworkTestbed(options)
            defer { testbed.stop() }
            let (publisher, stream) = try await testbed.publish()
            defer { publisher.stop() }
            let origin = isSecure ? NetworkTestbed.secureURI : NetworkTestbed.uri
            func metrics(_ arguments: [String]) async throws -> JSONObject {
                let browser = try ChromiumPeer(
                    "join_chromium.py",
                    [
                        origin, "--stream", "\(stream)", "--token", try testbed.viewingToken(stream), "--seconds",
                        "\(3 * chromium)", "--flag=--ignore-certificate-errors",
                    ] + arguments, origin: origin, in: testbed.viewersNamespace)
                defer { browser.stop() }
                return try await Task.detached { try browser.metrics() }.value
            }
            func row(_ name: String, _ times: [Double]) {
                report.row(
                    name,
                    [
                        "count": Double(times.count), "minimum": times.min(), "p50": Percentile.of(times, 0.5),
                        "p95": Percentile.of(times, 0.95), "maximum": times.max(),
                    ])
            }
            if !isSecure {
                for (name, suffix, flags) in Self.offers {
                    let times = Self.times("joins", of: try await metrics(["--joins", "\(chromium)"] + flags))
                    row("Chromium, WHEP\(suffix)", times)
                    values.append((name, Percentile.of(times, 0.5)))
                }
            }
            let pages = Self.times("loads", of: try await metrics(["--loads", "\(chromium)"]))
            row(isSecure ? "Chromium, page by TLS" : "Chromium, page", pages)
            values.append((isSecure ? "securePageP95" : "pageP95", Percentile.of(pages, 0.95)))
        }
        return values
    }

    /// Returns times in milliseconds from the results of the browser.
    static func times(_ name: String, of metrics: JSONObject) -> [Double] {
        guard case .array(let values)? = metrics[name] else { return [] }
        return values.compactMap(\.number)
    }

    /// Returns the number of round trips of a join: the time that it takes longer at a distance, divided by the added
    /// round-trip time. Returns nil if a time is unknown. The times are in milliseconds.
    static func roundTrips(near: Double?, far: Double?) -> Double? {
        guard let near, let far else { return nil }
        return (far - near) / addedRoundTrip
    }

    private func measureLocal(_ report: inout Report) async throws -> Quantiles {
        let live = try await TestPatternStream.start()
        defer { live.stop() }
        let viewing = try Viewing(live)
        _ = try await viewing.rejoin()
        let fresh = try await afresh(viewing, "loopback, session begins", limit: 120, &report)
        _ = try await rejoin(viewing, "loopback, session is open", limit: 120, &report)
        return fresh
    }

    /// The proxy has an address of its own with the platform's port, so that the platform's candidates lead to it.
    /// Returns the times of sessions that begin with the join, and those of an open session.
    private func measureRemote(_ report: inout Report) async throws -> (fresh: Quantiles, open: Quantiles) {
        let far = IPAddress(v4: 0x7F00_0002)
        // Only the network of the viewer is slow, not that of the publisher.
        var conditions = NetworkConditions(
            LinkConditions(delay: .milliseconds(Int64(Self.addedRoundTrip / 2))))
        conditions.exempt = .loopbackV4
        var links: [ImpairedLink] = []
        defer { links.forEach { $0.stop() } }
        var web: UInt16 = 0
        let live = try await TestPatternStream.start(advertise: far.description) { uri, rtcPort in
            guard let port = uri.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw BenchFailure("the platform's address \(uri) has no port")
            }
            web = port
            let ports = Set([port, rtcPort]).map { port in
                ImpairedLink.Port(
                    address: TransportAddress(ip: far, port: port),
                    server: TransportAddress(ip: .loopbackV4, port: port))
            }
            links.append(try ImpairedLink(ports, conditions))
        }
        defer { live.stop() }
        let viewing = try Viewing(live, uri: "http://\(far):\(web)")
        _ = try await viewing.rejoin()
        let freshLimit = Self.freshRoundTrips * Self.addedRoundTrip + Self.allowance
        let openLimit = Self.openRoundTrips * Self.addedRoundTrip + Self.allowance
        let fresh = try await afresh(viewing, "50 ms away, session begins", limit: freshLimit, &report)
        let open = try await rejoin(viewing, "50 ms away, session is open", limit: openLimit, &report)
        return (fresh, open)
    }

    private func afresh(
        _ viewing: Viewing, _ name: String, limit: Double, _ report: inout Report
    ) async throws -> Quantiles {
        try await measure(name, limit: limit, &report) { try await viewing.rejoin() }
    }

    private func rejoin(
        _ viewing: Viewing, _ name: String, limit: Double, _ report: inout Report
    ) async throws -> Quantiles {
        let pcast = PCast(PCastOptions(uri: viewing.uri))
        _ = try await pcast.start(authenticationToken: viewing.authenticationToken)
        let quantiles = try await measure(name, limit: limit, &report) { try await viewing.join(pcast) }
        await pcast.shutdown()
        return quantiles
    }

    private func measure(
        _ name: String, limit: Double, _ report: inout Report, _ join: () async throws -> TimeSpan
    ) async throws -> Quantiles {
        var waits: [Double] = []
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<count {
            try await Task.sleep(for: .milliseconds(Int64.random(in: 200...1_200, using: &generator)))
            waits.append(try await join().milliseconds)
        }
        let quantiles = Quantiles(waits)
        report.row(
            name,
            [
                "count": Double(count), "minimum": waits.min(), "p50": quantiles.p50, "p99": quantiles.p99,
                "maximum": waits.max(),
            ], pass: Target("", .atMost(limit)).holds(for: quantiles.p50))
        return quantiles
    }
}
