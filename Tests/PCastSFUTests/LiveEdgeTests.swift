import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The time from a new viewer's first frame until it is at the live edge, without decoding.
struct LiveEdgeTests {
    /// The limit of the product, which includes decoding. In this test, only the network takes time.
    private static let bound = TimeSpan.milliseconds(150)
    /// The number of frames between key frames, so that a viewer can join at a known time after one.
    private static let keyFrameInterval = 250

    private struct Scene {
        let network: VirtualNetwork
        let publisher: CallPeer
        var broadcast: Broadcast

        /// Starts a stream that has been viewed for five seconds and has just had a key frame.
        init(
            _ codec: Codec = .vp8, keyFrameSize: Int = 40_000, publishersDelay: TimeSpan = .milliseconds(10),
            answers: Bool = true, shards: Int = 1, maximumPeers: Int = 100
        ) throws {
            network = VirtualNetwork(maximumPeers: maximumPeers, shards: shards)
            network.link = VirtualNetwork.Link(delay: publishersDelay)
            publisher = try network.publish(codec)
            network.link = VirtualNetwork.Link()
            let watcher = try network.view()
            let publisher = publisher
            #expect(network.run { publisher.isConnected && watcher.isConnected })
            broadcast = Broadcast(codec, keyFrameInterval: keyFrameInterval)
            broadcast.videoFrames.keyFrameSize = keyFrameSize
            broadcast.answersRequests = answers
            broadcast.send(keyFrameInterval + 1, from: publisher, by: network)
        }

        mutating func send(for span: TimeSpan) {
            broadcast.send(Int(span.nanoseconds / Broadcast.interval.nanoseconds), from: publisher, by: network)
        }

        func joined(_ viewer: CallPeer, at instant: Instant) throws -> Joined {
            let numbers = viewer.video.map { broadcast.number(of: $0.frame) ?? -1 }
            let first = try #require(viewer.videoTimes.first)
            let lags = zip(viewer.videoTimes, numbers).map { $0 - broadcast.instants[$1] }
            let later = zip(viewer.videoTimes, lags).filter { $0.0 - first >= .seconds(1 as Int64) }.map(\.1).sorted()
            let median = try #require(later.isEmpty ? nil : later[later.count / 2])
            let edge = try #require(lags.firstIndex { $0 <= median + Broadcast.interval })
            return Joined(
                wait: first - instant, toLiveEdge: viewer.videoTimes[edge] - first, framesBefore: edge,
                numbers: numbers)
        }
    }

    private struct Joined {
        let wait: TimeSpan
        let toLiveEdge: TimeSpan
        let framesBefore: Int
        let numbers: [Int]
    }

    @Test(
        "a new viewer is at the live edge within the limit, whatever the age of the last key frame",
        arguments: [.vp8, .h264] as [Codec], [20, 300, 600, 1_000, 1_500, 1_900] as [Int64])
    func bound(codec: Codec, age: Int64) throws {
        var scene = try Scene(codec)
        // The viewer has its keys 60 ms after it joined.
        scene.send(for: .milliseconds(age - 20))
        let before = scene.publisher.keyFrameRequests
        let viewer = try scene.network.view()
        let came = scene.network.now
        scene.send(for: .seconds(3 as Int64))
        let joined = try scene.joined(viewer, at: came)
        #expect(joined.wait <= .milliseconds(100), "the first frame does not wait: \(joined.wait)")
        #expect(joined.toLiveEdge <= Self.bound, "\(joined.toLiveEdge)")
        #expect(scene.broadcast.keepsTime(viewer.video.map(\.frame)))
        #expect(viewer.video.allSatisfy { scene.broadcast.isSame($0.frame) })
        // An old key frame is shown at once, followed by a newer one. The frames in between are not sent.
        let isOld = age >= 600
        #expect(scene.publisher.keyFrameRequests - before == (isOld ? 1 : 0))
        // The newer key frame is large and therefore paced.
        if isOld { #expect(joined.framesBefore <= 4 && joined.numbers[1] > joined.numbers[0] + 20, "\(joined)") }
        let live = Array(joined.numbers.dropFirst())
        #expect(live == Array(live[0]..<live[0] + live.count), "no packet is missing from there on")
    }

    @Test("a viewer on another shard is at the live edge within the limit")
    func replica() throws {
        var scene = try Scene(shards: 2)
        let first = try scene.network.viewBeside()
        scene.send(for: .milliseconds(1_200))
        let viewer = try scene.network.viewBeside()
        let came = scene.network.now
        scene.send(for: .seconds(3 as Int64))
        #expect(first.isConnected)
        let joined = try scene.joined(viewer, at: came)
        #expect(joined.wait <= .milliseconds(100) && joined.toLiveEdge <= Self.bound, "\(joined)")
    }

    @Test(
        "a viewer of a distant publisher receives all frames since the key frame at once"
    )
    func farPublisher() throws {
        var scene = try Scene(publishersDelay: .milliseconds(150))
        scene.send(for: .milliseconds(1_000))
        let viewer = try scene.network.view()
        let came = scene.network.now
        scene.send(for: .seconds(3 as Int64))
        let joined = try scene.joined(viewer, at: came)
        #expect(joined.wait <= .milliseconds(100) && joined.toLiveEdge <= Self.bound, "\(joined)")
        #expect(joined.numbers == Array(joined.numbers[0]..<joined.numbers[0] + joined.numbers.count))
    }

    @Test(
        "a source that makes no key frames on request delays only the first viewer, within the limit"
    )
    func unanswered() throws {
        var scene = try Scene(answers: false)
        scene.send(for: .milliseconds(700))
        var (viewers, times): ([CallPeer], [Instant]) = ([], [])
        for _ in 0..<2 {
            times.append(scene.network.now)
            viewers.append(try scene.network.view())
            scene.send(for: .milliseconds(600))
        }
        scene.send(for: .seconds(2 as Int64))
        let first = try scene.joined(viewers[0], at: times[0])
        #expect(first.toLiveEdge <= Self.bound && first.numbers[1] == first.numbers[0] + 1, "\(first)")
        let second = try scene.joined(viewers[1], at: times[1])
        #expect(second.toLiveEdge <= .milliseconds(60), "\(second)")
    }

    @Test(
        "viewers that join continually share key frames within their share of the bit rate, and reach the live edge"
    )
    func storm() throws {
        // Such a key frame uses its share of the bit rate in two seconds.
        var scene = try Scene(keyFrameSize: 14_400, maximumPeers: 200)
        scene.send(for: .seconds(4 as Int64))
        let before = scene.publisher.keyFrameRequests
        var joins: [(viewer: CallPeer, at: Instant)] = []
        let start = scene.network.now
        for _ in 0..<100 {
            joins.append((try scene.network.view(), scene.network.now))
            scene.send(for: .milliseconds(60))
        }
        let elapsed = scene.network.now - start
        let requests = scene.publisher.keyFrameRequests - before
        scene.send(for: .seconds(2 as Int64))
        let joined = try joins.map { try scene.joined($0.viewer, at: $0.at) }
        // The maximum is a burst, one key frame in every two seconds, and one for the last viewers.
        #expect(requests <= Int(KeyFrameShare.burst) + Int(elapsed.seconds / 2) + 1, "\(requests)")
        #expect(joined.map(\.wait).max()! <= .milliseconds(150))
        let edges = joined.map(\.toLiveEdge).sorted()
        #expect(edges[94] <= Self.bound, "\(edges[94])")
    }

    @Test("key frames for new viewers are limited to a few in a row, and then to one in each span of their share")
    func share() {
        let start = Instant(nanoseconds: 1_000_000_000_000)
        var share = KeyFrameShare()
        var (granted, now) = (0, start)
        let cost = TimeSpan.seconds(2 as Int64)
        while now < start + .seconds(60 as Int64) {
            if share.allowsRequest(at: now) {
                share.charge(cost, at: now)
                granted += 1
            }
            now += .milliseconds(20)
        }
        #expect(granted == 30 + Int(KeyFrameShare.burst) - 1)
        // A source that makes many key frames by itself delays new viewers by no more than a burst.
        for _ in 0..<100 { share.charge(cost, at: now) }
        #expect(!share.allowsRequest(at: now))
        #expect(share.allowsRequest(at: now + cost))
    }
}
