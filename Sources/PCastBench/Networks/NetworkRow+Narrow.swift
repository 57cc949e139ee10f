import Foundation
import PCastCore
import PCastIO
import PCastTestSupport

/// Rows of links whose capacity is less than the stream's bitrate.
extension NetworkRow {
    static func narrow(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> [NetworkRow] {
        [
            falling(impairedPeer), falling(impairedPeer, layers: 3), tiny(impairedPeer), download(impairedPeer),
            twoFlows(impairedPeer),
        ]
    }

    private static func options(_ impairedPeer: NetworkTestbed.ImpairedPeer, rate: Int64) -> NetworkTestbed.Options {
        var options = NetworkTestbed.Options()
        options.impairedPeer = impairedPeer
        options.conditions = LinkConditions(
            delay: .milliseconds(20), rate: .kilobits(rate), queue: .span(.milliseconds(300)))
        return options
    }

    /// The capacity falls from 4 Mbit/s to 0.8 Mbit/s for 20 s and rises to 4 Mbit/s again.
    private static func falling(_ impairedPeer: NetworkTestbed.ImpairedPeer, layers: Int = 1) -> NetworkRow {
        let targets = [
            // With several layers only whole layers are forwarded, so that less of the capacity is used.
            Target("queueingDelay", .atMost(100)), Target("linkUse", .atLeast(layers > 1 ? 0.5 : 0.75)),
            Target("recoverySeconds", .atMost(15)),
        ]
        let name = layers > 1 ? "falls-layers" : "falls"
        return NetworkRow(name: "\(name)-\(impairedPeer.rawValue)", targets: targets) { _ in
            var options = options(impairedPeer, rate: 4_000)
            if layers > 1 { options.publish = ["--layers", "\(layers)"] }
            return try await MeasuredTestbed.run(options) { watched in
                try await watched.wait(10)
                let fall = watched.change { $0.rate = .kilobits(800) }
                let full = watched.rate(watched.samples(from: fall - .seconds(5), until: fall))
                try await watched.wait(20)
                let rise = watched.change { $0.rate = .kilobits(4_000) }
                let low = watched.samples(from: fall + .seconds(3), until: rise)
                try await watched.wait(18)
                let recovery = (0..<160).first { tenth in
                    let start = rise + .milliseconds(100) * Int64(tenth)
                    let second = watched.samples(from: start, until: start + .seconds(1))
                    return watched.rate(second) >= 0.8 * full
                }
                let watching = try watched.viewerMeasurement(since: fall)
                return [
                    ("fullRate", full), ("queueingDelay", watched.longestWait(low)),
                    ("linkUse", watched.rate(low) / 800_000),
                    ("recoverySeconds", recovery.map { Double($0 + 10) / 10 }),
                    ("framesPerSecond", watching.framesPerSecond), ("freezeShare", watching.freezeShare),
                ]
            }
        }
    }

    /// The capacity falls to 100 kbit/s for 15 s.
    private static func tiny(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> NetworkRow {
        let targets = [
            Target("viewerNotified", .atMost(3)), Target("publisherNotified", .atMost(3)),
            Target("audioShare", .atLeast(0.9)),
            Target("videoResumed", .atMost(5)),
        ]
        // A publisher is informed of the viewers' limits only if they affect at least half of the viewers.
        let viewerReasons = impairedPeer == .viewer ? ["download-limited"] : ["publisher-limited"]
        let publisherReasons = impairedPeer == .viewer ? ["network-limited"] : ["upload-limited"]
        return NetworkRow(name: "narrow-100-\(impairedPeer.rawValue)", targets: targets) { _ in
            try await MeasuredTestbed.run(options(impairedPeer, rate: 4_000)) { watched in
                try await watched.wait(5)
                let fall = watched.change { $0.rate = .kilobits(100) }
                let viewer = await watched.quality(
                    "audio-only", viewerReasons, of: watched.viewer, since: fall, within: .seconds(8))
                let publisher = await watched.quality(
                    "audio-only", publisherReasons, of: watched.publisher, since: fall, within: .seconds(4))
                try await watched.wait(8)
                let audio = try watched.viewerMeasurement(since: fall + .seconds(4)).concealedShare.map { 1 - $0 }
                let rise = watched.change { $0.rate = .kilobits(4_000) }
                let back = await watched.frames(since: rise, within: .seconds(20))
                return [
                    ("viewerNotified", viewer), ("publisherNotified", publisher), ("audioShare", audio),
                    ("videoResumed", back),
                ]
            }
        }
    }

    /// A TCP transfer through the same queue of 200 ms: a download for the viewer's link, an upload for the
    /// publisher's.
    private static func download(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> NetworkRow {
        let targets = [Target("share", .atLeast(0.25)), Target("queueingDelay", .atMost(210))]
        return NetworkRow(name: "tcp-download-\(impairedPeer.rawValue)", targets: targets) { seconds in
            var options = options(impairedPeer, rate: 4_000)
            options.conditions.queue = .span(.milliseconds(200))
            return try await MeasuredTestbed.run(options) { watched in
                let network = watched.testbed.network
                let address = "\(TunneledNetwork.serverAddress):9000"
                let server = try BulkProcess(
                    ["--listen", address] + (impairedPeer == .viewer ? ["--sends"] : []), in: network.server)
                defer { server.stop() }
                let client = try BulkProcess(
                    ["--connect", address] + (impairedPeer == .viewer ? [] : ["--sends"]), in: network.hosts[0])
                defer { client.stop() }
                try await watched.wait(5)
                let start = MonotonicClock.now()
                try await watched.wait(Double(seconds))
                let samples = watched.samples(from: start)
                let watching = try watched.viewerMeasurement(since: start)
                return [
                    ("share", watched.rate(samples) / 4_000_000),
                    ("downloadShare", samples.rate(watched.bytes) { !$0.isUDP } / 4_000_000),
                    ("queueingDelay", watched.longestWait(samples)), ("framesPerSecond", watching.framesPerSecond),
                    ("freezeShare", watching.freezeShare), ("latencyP50", watching.latencyP50),
                ]
            }
        }
    }

    /// Two viewers, or two publishers, share 3 Mbit/s.
    private static func twoFlows(_ impairedPeer: NetworkTestbed.ImpairedPeer) -> NetworkRow {
        let targets = [Target("smallerShare", .atLeast(0.35)), Target("largerShare", .atMost(0.65))]
        return NetworkRow(name: "two-flows-\(impairedPeer.rawValue)", targets: targets) { seconds in
            try await MeasuredTestbed.run(options(impairedPeer, rate: 3_000)) { watched in
                // The other publisher's stream needs a viewer, because the platform pauses streams without one.
                let another = impairedPeer == .publisher ? try await watched.testbed.publish() : nil
                defer { another?.process.stop() }
                let second = try watched.testbed.view(another?.stream ?? watched.stream)
                defer { second.stop() }
                try await watched.wait(15)
                let start = MonotonicClock.now()
                try await watched.wait(Double(seconds))
                var bytes: [UInt16: Int] = [:]
                for sample in watched.samples(from: start) {
                    for (flow, count) in sample[keyPath: watched.bytes] where flow.isUDP {
                        bytes[flow.port, default: 0] += count
                    }
                }
                let flows = bytes.values.sorted().suffix(2)
                let total = Double(bytes.values.reduce(0, +))
                return [
                    ("smallerShare", flows.count == 2 ? Double(flows.first ?? 0) / total : 0),
                    ("largerShare", Double(flows.last ?? 0) / total),
                    ("linkUse", watched.rate(watched.samples(from: start)) / 3_000_000),
                ]
            }
        }
    }
}

/// A process of this program that sends or receives over TCP as fast as the connection permits.
final class BulkProcess {
    private let process = Process()

    /// Starts `bulk-worker` with the given arguments in a namespace. Throws an error if it cannot be started.
    init(_ arguments: [String], in namespace: NetworkNamespace) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = try SystemProgram.url(of: namespace.prefix[0])
        process.arguments = namespace.prefix.dropFirst() + [own, "bulk-worker"] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    func stop() {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }
}
