import PCastCore
import Testing

@testable import PCastBench

@Suite("The rows of the cluster benchmark")
struct ClusterRowTests {
    private func row(limit: Double, lateViewer: ClusterTestbed.Node? = nil) -> ClusterRow {
        ClusterRow(name: "row", fault: "a fault", limit: limit, hlsLimit: 900, lateViewer: lateViewer) { _ in }
    }

    private func metrics(withoutVideo: Double, lateJoin: Double? = nil) -> ClusterRow.Metrics {
        ClusterRow.Metrics(withoutVideo: withoutVideo, hlsWithoutVideo: 210, lateJoin: lateJoin)
    }

    @Test("the names of the rows are unique, and each row has a limit")
    func names() {
        let names = ClusterRow.all.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(ClusterRow.all.allSatisfy { $0.limit > 0 && $0.hlsLimit > 0 && !$0.fault.isEmpty })
        for name in ["origin-killed-standby", "origin-killed", "edge-killed", "nats-emptied", "rolling-restart"] {
            #expect(names.contains(name))
        }
    }

    @Test("a row is selected by its whole name")
    func selection() {
        #expect(ClusterRow.rows(named: "edge-cut").map(\.name) == ["edge-cut"])
        #expect(ClusterRow.rows(named: "edge").isEmpty)
        #expect(ClusterRow.rows(named: nil).count == ClusterRow.all.count)
    }

    @Test("a row holds if no viewer is without video for longer than the limit")
    func limits() {
        #expect(row(limit: 500).passes(metrics(withoutVideo: 500)))
        #expect(!row(limit: 500).passes(metrics(withoutVideo: 501)))
        // A viewer never received video, or the cluster did not start.
        #expect(!row(limit: 500).passes(ClusterRow.Metrics()))
    }

    @Test("a row with a further viewer holds only if it joined")
    func lateViewers() {
        let row = row(limit: 300, lateViewer: .c)
        #expect(!row.passes(metrics(withoutVideo: 40)))
        #expect(row.passes(metrics(withoutVideo: 40, lateJoin: 250)))
    }

    @Test("a row holds only if the viewers by HLS receive parts within their limit")
    func viewersByHLS() {
        var metrics = metrics(withoutVideo: 40)
        for (time, holds) in [(900, true), (901, false), (nil, false)] as [(Double?, Bool)] {
            metrics.hlsWithoutVideo = time
            #expect(row(limit: 300).passes(metrics) == holds)
        }
    }

    @Test("a row with a viewer in Chromium holds only if that one has video, within the limit and the precision")
    func browsers() {
        var metrics = metrics(withoutVideo: 40)
        metrics.browserWithoutVideo = 900
        #expect(row(limit: 300).passes(metrics), "there is no such viewer")
        metrics.hasBrowser = true
        #expect(!row(limit: 300).passes(metrics))
        metrics.browserWithoutVideo = 400
        #expect(row(limit: 300).passes(metrics))
        metrics.browserWithoutVideo = nil
        #expect(!row(limit: 300).passes(metrics))
    }

    @Test("a row whose program is not installed does not run, and names the program")
    func obstacles() {
        var row = row(limit: 300)
        row.programs = ["a-program-that-is-not-installed"]
        #expect(row.obstacle?.hasSuffix("is not installed") == true)
    }
}

@Suite("The recorded video of publishers")
struct RecordedGroupTests {
    /// The type of the first NAL unit of a payload, or of its fragment (RFC 6184, section 5.4).
    private static func unitType(_ payload: [UInt8]) -> UInt8 {
        let type = payload[0] & 0x1F
        return type == 28 ? payload[1] & 0x1F : type
    }

    @Test("it begins with parameter sets and a key frame, and contains no further one")
    func group() throws {
        let group = try RecordedGroup.testPattern()
        #expect(group.frames.count > Int(RecordedGroup.rate))
        let first = try #require(group.frames.first)
        // An aggregation packet (24) has the parameter sets, or the first packet is one (7).
        #expect([7, 24].contains(Self.unitType(first[0])))
        #expect(first.contains { Self.unitType($0) == 5 || $0[0] & 0x1F == 24 })
        #expect(group.frames.dropFirst().joined().allSatisfy { ![5, 7, 8].contains(Self.unitType($0)) })
        #expect(group.frames.joined().allSatisfy { !$0.isEmpty && $0.count <= 1_200 })
        let profile = TrafficProfile(group)
        #expect(profile.frames == group.frames.map { $0.map(\.count) } && profile.keyFrame == profile.frames[0])
    }
}

@Suite("The time without video of a viewer")
struct VideoGapTests {
    private func instant(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test("it is the longest time between two frames, or since the last one")
    func longest() {
        let gap = VideoGap()
        #expect(gap.longest(until: instant(50)) == nil && gap.silence(at: instant(50)) == nil)
        for time: Int64 in [100, 133, 533, 566] { gap.receiveFrame(at: instant(time)) }
        #expect(gap.longest(until: instant(600)) == .milliseconds(400))
        #expect(gap.longest(until: instant(1_566)) == .milliseconds(1_000))
        #expect(gap.silence(at: instant(1_566)) == .milliseconds(1_000) && gap.frames == 4)
    }

    @Test("earlier times are forgotten when the measurement begins, but not the last frame")
    func begin() {
        let gap = VideoGap()
        for time: Int64 in [0, 2_000] { gap.receiveFrame(at: instant(time)) }
        gap.begin()
        #expect(gap.longest(until: instant(2_010)) == .milliseconds(10) && gap.frames == 0)
        gap.receiveFrame(at: instant(2_300))
        #expect(gap.longest(until: instant(2_300)) == .milliseconds(300))
    }
}

@Suite("The events of a session")
struct SessionEventsTests {
    @Test("the end of a session and the request to connect again are recognized")
    func ends() {
        #expect(SessionEvents.end(in: "event: data-quality\ndata: {}\n\n") == nil)
        #expect(SessionEvents.end(in: "data: {}\n\nevent: ended\ndata: {}\n\n") == .ended)
        #expect(SessionEvents.end(in: "event: reconnect\ndata: {}\n\n") == .reconnect)
    }

    @Test("the server and the path of a URI are found")
    func targets() throws {
        let target = try #require(SessionEvents.target(of: "http://10.0.0.1:8080/whep/resource/a/events"))
        #expect(target.server == TransportAddress("10.0.0.1:8080") && target.path == "/whep/resource/a/events")
        #expect(SessionEvents.target(of: "http://10.0.0.1:8080")?.path == "/")
        #expect(SessionEvents.target(of: "https://10.0.0.1/a") == nil)
        #expect(SessionEvents.target(of: "http://a.example.com/a") == nil)
    }

    @Test("a server that refuses the connection has closed it", .timeLimit(.minutes(1)))
    func closed() async throws {
        // No server listens at port 1.
        let events = SessionEvents("http://127.0.0.1:1/events")
        while events.end == nil { await Task.yield() }
        #expect(events.end == .closed)
    }
}

@Suite("The nodes for many viewers")
struct ScaleModelTests {
    /// A machine of 10 processors and 10 Gbit/s, of which half are used. The costs are binary fractions.
    private func model(
        viewer: Double = 1.0 / 1_024, link: Double = 1.0 / 128, join: Double = 1.0 / 64, bitrate: Double = 500_000
    ) -> ScaleModel {
        ScaleModel(
            costs: .init(viewer: viewer, link: link, join: join, bitrate: bitrate, memory: 1_000),
            machine: .init(processors: 10, network: 10e9, utilization: 0.5))
    }

    @Test("a node serves as many viewers as its processors or its network card permit")
    func capacity() {
        #expect(model().viewersPerNode == 5_120 && model().linksPerNode == 640)
        #expect(model(bitrate: 10_000_000).viewersPerNode == 500)
        #expect(model().joinsPerSecond == 320)
        #expect(model(viewer: 100).viewersPerNode == 1)
    }

    @Test("the origin serves the edges if it can")
    func flat() {
        let plan = model().plan(viewers: 100_000)
        #expect(plan.edges == 20 && plan.relays == 0 && plan.depth == 2 && plan.originLinks == 20 && plan.nodes == 21)
        #expect(plan.egress == 100_020 * 500_000 && plan.originEgress == 20 * 500_000)
        #expect(plan.memory == 5_000 * 1_000)
    }

    @Test("otherwise there are nodes between the origin and the edges")
    func deep() {
        let plan = model().plan(viewers: 5_120 * 2_000)
        #expect(plan.edges == 2_000 && plan.relays == 4 && plan.depth == 3 && plan.originLinks == 4)
        #expect(plan.nodes == 2_005 && plan.originEgress == 4 * 500_000)
    }

    @Test("viewers that join at once need more edges if joins cost more than viewing")
    func storm() {
        // 500,000 joins of 1/64 s within 60 s need 130 processors, and viewers need 244.
        #expect(model().plan(viewers: 500_000, joiningWithin: 60).edges == 98)
        // 500,000 joins of 1/8 s need 1,042 processors.
        #expect(model(join: 0.125).plan(viewers: 500_000, joiningWithin: 60).edges == 258)
    }

    @Test("a single viewer needs an edge")
    func one() {
        #expect(model().plan(viewers: 1).nodes == 2)
    }
}
