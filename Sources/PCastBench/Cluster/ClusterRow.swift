import PCastCore
import PCastIO
import PCastJSON
import PCastTestSupport

/// A fault of a cluster, and the time for which viewers may have no video because of it.
struct ClusterRow: Sendable {
    /// The running cluster with a publisher and viewers.
    struct Scene: Sendable {
        let testbed: ClusterTestbed
        /// The publisher that the viewers watch.
        let publisher: RecordedProcess
        /// Publishers that a row has started.
        let others: Others

        /// Starts another publisher of the same name. Returns when it is connected.
        func publish(at nodes: [ClusterTestbed.Node]) async throws {
            await others.add(try await testbed.publish(at: nodes, number: 1))
        }

        func wait(_ seconds: Int) async throws { try await Task.sleep(for: .seconds(seconds)) }
    }

    /// The processes that a row has started beside those of the testbed.
    actor Others {
        private var processes: [RecordedProcess] = []

        func add(_ process: RecordedProcess) { processes.append(process) }

        func stop() {
            for process in processes { process.terminateAtOnce() }
            processes = []
        }
    }

    /// The results of a row.
    struct Metrics: Sendable {
        /// The longest time without video of a viewer, in milliseconds; nil if a viewer received none.
        var withoutVideo: Double?
        /// The number of times that viewers connected again.
        var rejoins: Double?
        /// The longest time between two parts of a viewer by HLS, in milliseconds; nil if a viewer received none.
        var hlsWithoutVideo: Double?
        /// The number of times that viewers by HLS began again at another node.
        var hlsRejoins: Double?
        /// The time from the start of a further viewer's process until it receives video, in milliseconds.
        var lateJoin: Double?
        /// The reason for which the further viewer did not receive video; nil if it did.
        var lateFailure: String?
        /// Whether a viewer was in Chromium.
        var hasBrowser = false
        /// The longest time without video of the viewer in Chromium, in milliseconds; nil if it received none.
        var browserWithoutVideo: Double?
        /// The number of times that the viewer in Chromium connected again.
        var browserRejoins: Double?
    }

    let name: String
    /// The sentence of the fault for a reader.
    let fault: String
    /// The longest permitted time without video, in milliseconds.
    let limit: Double
    /// The longest permitted time between two parts of a viewer by HLS, in milliseconds.
    let hlsLimit: Double
    var options = ClusterTestbed.Options()
    /// Whether a second publisher sends the same name from the start.
    var hasSecondPublisher = false
    /// The node at which a further viewer joins after the fault; nil for none.
    var lateViewer: ClusterTestbed.Node?
    /// The programs that the row needs.
    var programs: [String] = []
    /// Causes the fault, and returns when its effects are over.
    let fail: @Sendable (Scene) async throws -> Void

    /// The nodes in the order in which viewers try them.
    private static let viewersNodes: [ClusterTestbed.Node] = [.b, .c, .a]
    private static let viewers = 4
    private static let hlsViewers = 2
    /// The time for which the viewer in Chromium runs at most: all processes start in time, and the fault lasts half a minute.
    private static let browserLimit = Duration.seconds(600)
    private static let stopTime = TimeSpan.seconds(5 as Int64)
    /// The time by which the statistics of Chromium may be late, in milliseconds.
    private static let browserPrecision = 100.0

    /// The reason for which the row cannot run here; nil if it can.
    var obstacle: String? {
        for program in [NATSServer.program] + programs where (try? SystemProgram.url(of: program)) == nil {
            return "\(program) is not installed"
        }
        return nil
    }

    /// Whether the row holds its target.
    func passes(_ metrics: Metrics) -> Bool {
        let browserTarget = Target("browserWithoutVideo", .atMost(limit + Self.browserPrecision))
        return Target("withoutVideo", .atMost(limit)).holds(for: metrics.withoutVideo)
            && Target("hlsWithoutVideo", .atMost(hlsLimit)).holds(for: metrics.hlsWithoutVideo)
            && (!metrics.hasBrowser || browserTarget.holds(for: metrics.browserWithoutVideo))
            && (lateViewer == nil || metrics.lateJoin != nil)
    }

    /// Runs the row. Throws `BenchFailure` if the cluster or its clients do not start.
    func measure() async throws -> Metrics {
        let testbed = try await ClusterTestbed(options)
        defer { testbed.stop() }
        let publisher = try await testbed.publish(at: [.a, .b, .c])
        defer { publisher.terminateAtOnce() }
        let others = Others()
        let scene = Scene(testbed: testbed, publisher: publisher, others: others)
        do {
            let metrics = try await measure(scene)
            await others.stop()
            return metrics
        } catch {
            await others.stop()
            throw error
        }
    }

    private func measure(_ scene: Scene) async throws -> Metrics {
        let viewers = try await scene.testbed.watch(Self.viewers, at: Self.viewersNodes, homes: 2)
        defer { viewers.stop(within: Self.stopTime) }
        let hlsViewers = try await scene.testbed.watch(
            Self.hlsViewers, by: .hls, at: Self.viewersNodes, homes: 2, number: 2)
        defer { hlsViewers.stop(within: Self.stopTime) }
        let browser =
            ChromiumPeer.canRun(ClusterTestbed.browserScript)
            ? try await scene.testbed.watchInBrowser(at: Self.viewersNodes, atMost: Self.browserLimit) : nil
        defer { browser?.stop() }
        if hasSecondPublisher {
            // Viewers already receive the first one, which is the origin.
            try await scene.publish(at: [.b])
            try await scene.wait(2)
        }
        try await fail(scene)
        var metrics = Metrics()
        if let lateViewer {
            let start = MonotonicClock.now()
            do {
                let late = try await scene.testbed.watch(1, at: [lateViewer], homes: 1, number: 1)
                metrics.lateJoin = late.events("joined").first.map { ($0.instant - start).milliseconds }
                late.stop(within: Self.stopTime)
            } catch let error as BenchFailure {
                metrics.lateFailure = error.description
            }
        }
        // All measurements end at the same time.
        viewers.interrupt()
        hlsViewers.interrupt()
        let row = try await viewers.first("row", within: .seconds(10 as Int64))
        (metrics.withoutVideo, metrics.rejoins) = (row.number("longestGap"), row.number("rejoins"))
        let hlsRow = try await hlsViewers.first("row", within: .seconds(10 as Int64))
        (metrics.hlsWithoutVideo, metrics.hlsRejoins) = (hlsRow.number("longestGap"), hlsRow.number("rejoins"))
        if let browser {
            metrics.hasBrowser = true
            browser.finish()
            let statistics = try await Task.detached { try browser.metrics() }.value
            metrics.browserWithoutVideo = statistics["longest"]?.number
            metrics.browserRejoins = statistics["rejoins"]?.number
        }
        return metrics
    }
}

// MARK: The table

extension ClusterRow {
    /// The limits of the rows, in milliseconds.
    private enum Limit {
        static let secondOrigin = 500.0
        static let singlePublisher = 2_000.0
        static let edgeKilled = 1_000.0
        static let edgeCut = 3_000.0
        static let rollingRestart = 1_000.0
        /// A time that viewers do not notice: nine frames, which a jitter buffer conceals.
        static let unnoticed = 300.0
        static let slowLink = 500.0
    }

    /// The limits of viewers by HLS, in milliseconds.
    private enum HLSLimit {
        /// Nodes hold the response to a request for the next part, so a viewer notices a fault by a request that fails, or
        /// that is not answered within two seconds.
        static let reloaded = 3_000.0
        /// A player does not stall: it has buffered `PART-HOLD-BACK`, 700 ms, when the part before arrives, and parts have
        /// 200 ms.
        static let unnoticed = 900.0
        /// A second without video after the end of what a player has buffered.
        static let rollingRestart = 1_700.0
    }

    /// Returns the row with a name, or all rows without one.
    static func rows(named name: String?) -> [ClusterRow] { all.filter { name == nil || $0.name == name } }

    /// All rows.
    static let all: [ClusterRow] =
        [
            ClusterRow(
                name: "origin-killed-standby",
                fault: "the origin is killed, and a second encoder publishes at another node",
                limit: Limit.secondOrigin, hlsLimit: HLSLimit.reloaded, hasSecondPublisher: true
            ) { scene in
                scene.testbed.kill(.a)
                try await scene.wait(12)
            },
            ClusterRow(
                name: "origin-killed", fault: "the origin is killed, and its publisher connects to another node",
                limit: Limit.singlePublisher, hlsLimit: HLSLimit.reloaded
            ) { scene in
                scene.testbed.kill(.a)
                try await scene.wait(15)
            },
            ClusterRow(
                name: "edge-killed", fault: "an edge is killed, and its connections close", limit: Limit.edgeKilled,
                hlsLimit: HLSLimit.reloaded
            ) { scene in
                scene.testbed.kill(.b)
                try await scene.wait(8)
            },
            ClusterRow(
                name: "edge-cut", fault: "an edge is cut off by its link", limit: Limit.edgeCut,
                hlsLimit: HLSLimit.reloaded
            ) { scene in
                scene.testbed.change(.b) { up, down in (up.isDown, down.isDown) = (true, true) }
                try await scene.wait(10)
            },
        ] + nats + partitions + others

    private static let nats = [
        ClusterRow(
            name: "nats-killed", fault: "NATS is killed", limit: Limit.unnoticed, hlsLimit: HLSLimit.unnoticed,
            lateViewer: .c
        ) { scene in
            scene.testbed.nats.terminateAtOnce()
            // Leases would expire meanwhile.
            try await scene.wait(10)
        },
        ClusterRow(
            name: "nats-restarted", fault: "NATS is killed and started again", limit: Limit.unnoticed,
            hlsLimit: HLSLimit.unnoticed, lateViewer: .c
        ) { scene in
            scene.testbed.nats.terminateAtOnce()
            try await scene.wait(2)
            try scene.testbed.nats.start()
            try await scene.wait(10)
        },
        ClusterRow(
            name: "nats-emptied", fault: "NATS is killed and started again without its data", limit: Limit.unnoticed,
            hlsLimit: HLSLimit.unnoticed,
            lateViewer: .c
        ) { scene in
            scene.testbed.nats.terminateAtOnce()
            try scene.testbed.nats.removeData()
            try scene.testbed.nats.start()
            try await scene.wait(12)
        },
        ClusterRow(
            name: "nats-disk-full", fault: "the disk of NATS is full", limit: Limit.unnoticed,
            hlsLimit: HLSLimit.unnoticed,
            options: ClusterTestbed.Options(storage: .smallDisk), lateViewer: .c, programs: ["unshare", "mount"]
        ) { scene in
            try scene.testbed.nats.fill()
            try await scene.wait(12)
        },
    ]

    private static let partitions = [
        ClusterRow(
            name: "partition-origin", fault: "an edge and the origin do not reach each other for 8 s",
            limit: Limit.edgeCut, hlsLimit: HLSLimit.reloaded
        ) { scene in
            try await separate(scene, ClusterTestbed.Node.b.rawValue, for: 8)
            try await scene.wait(7)
        },
        ClusterRow(
            name: "partition-nats", fault: "a node and NATS do not reach each other for 10 s", limit: Limit.unnoticed,
            hlsLimit: HLSLimit.unnoticed,
            lateViewer: .c
        ) { scene in
            try await separate(scene, ClusterTestbed.natsHost, from: .c, for: 10)
            try await scene.wait(5)
        },
        ClusterRow(
            name: "slow-link", fault: "the link to an edge has a delay of 150 ms and a loss of 2 %",
            limit: Limit.slowLink, hlsLimit: HLSLimit.reloaded, lateViewer: .b
        ) { scene in
            scene.testbed.change(.b) { _, down in
                down.delay = .milliseconds(150)
                down.loss = .random(0.02)
            }
            try await scene.wait(15)
        },
    ]

    private static func separate(
        _ scene: Scene, _ host: Int, from node: ClusterTestbed.Node = .a, for seconds: Int
    ) async throws {
        try scene.testbed.network.separate(node.rawValue, host)
        try await scene.wait(seconds)
        try scene.testbed.network.separate(node.rawValue, host, false)
    }

    private static let others = [
        ClusterRow(
            name: "rolling-restart", fault: "each node is drained, stopped and started again",
            limit: Limit.rollingRestart, hlsLimit: HLSLimit.rollingRestart
        ) { scene in
            for node in [ClusterTestbed.Node.c, .b, .a] {
                try scene.testbed.drain(node)
                try await scene.wait(2)
                scene.testbed.stop(node)
                try await scene.testbed.start(node)
                try await scene.wait(4)
            }
        },
        ClusterRow(
            name: "two-publishers",
            fault: "a second encoder publishes the name at another node, and the first one ends",
            limit: Limit.secondOrigin, hlsLimit: HLSLimit.reloaded
        ) { scene in
            try await scene.publish(at: [.b])
            try await scene.wait(5)
            scene.publisher.terminateAtOnce()
            try await scene.wait(10)
        },
        ClusterRow(
            name: "clock-off", fault: "the clock of an edge is five minutes fast", limit: Limit.unnoticed,
            hlsLimit: HLSLimit.unnoticed,
            options: ClusterTestbed.Options(fastNode: .b), lateViewer: .b, programs: [ClusterTestbed.clockProgram]
        ) { scene in
            try await scene.wait(12)
        },
    ]
}
