import ArgumentParser
import Foundation
import Glibc
import PCastCore
import PCastDevices
import PCastIO
import PCastJSON

/// `pcast-bench meeting` measures many publishers with a few viewers each.
struct MeetingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "meeting",
        abstract: "Measure CPU time and added delay with many small publishers that have a few viewers each.",
        discussion: "The publishers' frames are spread over time. Delays are from sending to arrival.")

    @Option(help: "Number of publishers.")
    var publishers = 100

    @Option(help: "Number of viewers of each publisher.")
    var viewers = 20

    @Option(help: "Seconds to measure.")
    var seconds = 20

    @OptionGroup var options: ReportOptions

    private static let targets = [
        Target("missing", .exactly(0)), Target("unauthentic", .exactly(0)), Target("idle", .exactly(0)),
    ]

    func validate() throws {
        guard (1...1_000).contains(publishers), (1...1_000).contains(viewers), seconds > 0 else {
            throw ValidationError("--publishers and --viewers must be 1 to 1000, and --seconds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        let total = publishers * viewers
        let broadcast = try await Broadcast.start(
            streams: publishers, of: .small, viewers: total, decryptsEach: total > 1_000 ? 8 : 1)
        defer { broadcast.stop() }
        let measurement = try await broadcast.measure(seconds: seconds)
        report.row("\(publishers) to \(viewers) each", measurement.round.row, pass: !measurement.round.isVoid)
        try report.finish(
            measurement.round.row + [
                ("delayP50", measurement.delays.percentile(0.5)), ("delayP99", measurement.delays.percentile(0.99)),
                ("requestedOfPublishers", Double(measurement.publishing.requested)),
            ], targets: Self.targets)
    }
}

/// The program `pcast-bench`.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pcast-bench",
        abstract: "Measure PCast, and emulate bad networks.",
        discussion: """
            Each measurement prints a table. With --json, it prints an event “row” for each row and an event \
            “result” at the end. The exit status is 0 if every target holds, otherwise 1.
            """,
        subcommands: [
            LatencyCommand.self, JoinCommand.self, AllocationsCommand.self, PacketsCommand.self, CaptureCommand.self,
            NetworksCommand.self, ImpairCommand.self, CaptureWorkerCommand.self, BulkWorkerCommand.self,
            LightViewersCommand.self, SessionsCommand.self, FanOutCommand.self, ShardsCommand.self, ScalingCommand.self,
            JoinStormCommand.self, MeetingCommand.self, IdleCommand.self, RelayLatencyCommand.self,
            SoakCommand.self, RenderCommand.self, RenderWorkerCommand.self, PlaybackCommand.self, OverlayCommand.self,
            TimelineBenchCommand.self,
        ])
}

/// `pcast-bench render-worker` is a process of `pcast-bench render` whose CPU time is measured.
struct RenderWorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "render-worker", abstract: "Play a file in a window; started by “render”.", shouldDisplay: false)

    @Option var file: String

    func run() async throws {
        StandardOutput.write(try await RenderRun(file: file).run().text + "\n")
    }
}

/// `pcast-bench capture-worker` is a process of `pcast-bench capture` whose CPU time is measured.
struct CaptureWorkerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture-worker", abstract: "Capture and encode; started by “capture”.", shouldDisplay: false)

    enum Kind: String, ExpressibleByArgument { case memory, camera, drawing }

    @Option var kind: Kind
    @Option var frames: String?
    @Option var camera: String?
    @Option var width: Int
    @Option var height: Int
    @Option var rate: Int
    @Option var bitrate: Int64
    @Option var seconds: Int

    func run() async throws {
        let dimensions = Dimensions(width: width, height: height)
        let count = seconds * rate
        let source: any VideoSource =
            switch kind {
            case .memory:
                try MemoryCamera(path: frames ?? "", dimensions: dimensions, frameRate: rate, count: count)
            case .camera:
                try VideoInput(
                    VideoRequest(
                        .camera(id: camera),
                        constraints: [
                            .width: [DeviceConstraint(.number(Double(width)), kind: .exact)],
                            .height: [DeviceConstraint(.number(Double(height)), kind: .exact)],
                            .frameRate: [DeviceConstraint(.number(Double(rate)), kind: .exact)],
                        ]))
            case .drawing: SyntheticVideoSource(dimensions: dimensions, frameRate: rate)
            }
        let run = CaptureRun(
            source: source, bitrate: .kilobits(bitrate), duration: .seconds(Int64(seconds)), encodes: kind != .drawing)
        StandardOutput.write(try await run.run().text + "\n")
    }
}

/// `pcast-bench light-viewers` runs viewers that inspect each packet without decoding.
struct LightViewersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "light-viewers", abstract: "Run viewers that do not decode; started by “networks”.",
        shouldDisplay: false)

    /// The environment variable with the token, which other users cannot read.
    static let tokenVariable = "PCAST_BENCH_VIEWING_TOKEN"

    @Option(help: "Address of the platform.")
    var uri: String

    @Option var stream: String

    @Option var viewers = 97

    @Option(help: "Source address and first source port.")
    var from: String

    @Option(help: "Seconds before the measurement starts.")
    var settleSeconds = 4

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let token = ProcessInfo.processInfo.environment[Self.tokenVariable] ?? ""
        guard let first = TransportAddress(from), first.port > 0, (1...65_536 - Int(first.port)).contains(viewers)
        else {
            throw ValidationError("--from must be an address and the first port, such as 127.0.0.1:20000.")
        }
        var report = Report(options)
        let viewersLoad = try LightViewers(viewers, from: first.ip, firstPort: first.port)
        defer { viewersLoad.leave() }
        try await viewersLoad.join(StreamID(stream), at: uri, token: token)
        try await viewersLoad.watching(within: .seconds(20))
        try await Task.sleep(for: .seconds(settleSeconds))
        try await viewersLoad.begin()
        report.event(
            "watching", ["viewers": .number(Double(viewers))],
            sentence: "\(viewers) viewers are subscribed. Press Ctrl-C to stop.")
        await StopSignals.wait()
        report.row("light-viewers", try await viewersLoad.figures().named)
    }
}

/// `pcast-bench packets` measures the SFU's own CPU time per forwarded packet, without the kernel.
struct PacketsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "packets",
        abstract: "Measure the SFU's CPU time per forwarded packet without sockets.",
        discussion: """
            In memory and on virtual time, as “allocations”: packets are decrypted, stored, and encrypted for each \
            viewer. The kernel's time for sending them is not included.
            """)

    @Option(help: "Number of viewers. (default: 1, 10 and 200)")
    var viewers: Int?

    @Option(help: "Seconds of virtual time to measure.")
    var seconds = 10

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard viewers.map({ (1...10_000).contains($0) }) ?? true, seconds > 0 else {
            throw ValidationError("--viewers must be 1 to 10000, and --seconds at least 1.")
        }
    }

    func run() async throws {
        var report = Report(options)
        var last: Double?
        for count in viewers.map({ [$0] }) ?? [1, 10, 200] {
            let broadcast = try MemoryBroadcast(viewers: count)
            try broadcast.run(for: .seconds(1))
            broadcast.beginMetering()
            try broadcast.run(for: .seconds(Int64(seconds)))
            let costs = broadcast.costs
            let nanoseconds = costs.relayIn.nanoseconds + costs.relayOut.nanoseconds
            last = Double(nanoseconds) / Double(max(1, costs.relayOut.packets))
            report.row(
                "\(count) viewers",
                [
                    "viewers": Double(count), "packets": Double(costs.relayOut.packets),
                    "receivePerPacket": costs.relayIn.nanosecondsPerPacket,
                    "forwardPerPacket": costs.relayOut.nanosecondsPerPacket, "perForwardedPacket": last,
                ])
        }
        try report.finish(["nanosecondsPerPacket": last], targets: [])
    }
}

/// `pcast-bench bulk-worker` is one end of a TCP connection with unlimited data.
struct BulkWorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bulk-worker", abstract: "Download data; started by “networks”.", shouldDisplay: false)

    @Option var listen: String?
    @Option var connect: String?
    @Flag var sends = false

    func run() throws {
        guard let address = (listen ?? connect).flatMap({ TransportAddress($0) }) else { throw ExitCode(2) }
        let socket = try ProxySocket(.stream)
        if listen != nil {
            try socket.bind(address)
            try socket.listen()
            while true {
                Self.wait(socket, POLLIN)
                if let accepted = socket.accept() { transfer(accepted) }
            }
        }
        // The other end may still be starting.
        var attempt: ProxySocket? = socket
        while true {
            let tried = try attempt ?? ProxySocket(.stream)
            attempt = nil
            try tried.connect(address)
            Self.wait(tried, POLLOUT)
            if tried.error == 0 { return transfer(tried) }
            usleep(100_000)
        }
    }

    private func transfer(_ socket: ProxySocket) {
        var buffer = [UInt8](repeating: 0x5A, count: 65_536)
        while true {
            Self.wait(socket, sends ? POLLOUT : POLLIN)
            let count =
                sends
                ? send(socket.number, buffer, buffer.count, Int32(MSG_NOSIGNAL))
                : recv(socket.number, &buffer, buffer.count, 0)
            if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return }
        }
    }

    private static func wait(_ socket: ProxySocket, _ event: Int32) {
        var descriptor = pollfd(fd: socket.number, events: Int16(event), revents: 0)
        poll(&descriptor, 1, -1)
    }
}

/// `pcast-bench relay-latency` measures the latency that the SFU adds.
struct RelayLatencyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relay-latency",
        abstract: "Measure the delay of packets from publisher to viewer at about half load.",
        discussion: """
            The streams are not synchronized. Half load is half of the SFU's processor; the table shows the actual \
            load, and --viewers changes it. With one stream, the last viewer of a frame waits for the work of all \
            others. “ofFrameWork” is the 99th percentile in units of the time that one frame takes.
            """)

    @Option(help: "Number of streams, which share the viewers equally.")
    var streams = 20

    @Option(help: "Total number of viewers.")
    var viewers = 500

    @Option(help: "Seconds to measure.")
    var seconds = 15

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...200).contains(streams), (streams...20_000).contains(viewers), seconds > 0 else {
            throw ValidationError(
                "--streams must be 1 to 200, --viewers that number to 20000, and --seconds at least 1.")
        }
    }

    private var targets: [Target] {
        [
            streams > 1 ? Target("delayP99", .atMost(5)) : Target("ofFrameWork", .atMost(1.2)),
            Target("missing", .exactly(0)), Target("idle", .exactly(0)),
        ]
    }

    func run() async throws {
        var report = Report(options)
        let broadcast = try await Broadcast.start(streams: streams, of: .even, viewers: viewers, decryptsEach: 4)
        defer { broadcast.stop() }
        let measurement = try await broadcast.measure(seconds: seconds)
        report.row("\(streams) streams to \(viewers)", measurement.round.row, pass: !measurement.round.isVoid)
        let frames = measurement.round.elapsed.seconds * Double(broadcast.profile.rate) * Double(streams)
        let work = measurement.round.processorTime.milliseconds / frames
        let p99 = measurement.delays.percentile(0.99)
        try report.finish(
            [
                "ofProcessor": measurement.round.share, "delayP50": measurement.delays.percentile(0.5), "delayP99": p99,
                "frameWork": work, "ofFrameWork": p99.map { $0 / work },
                "missing": Double(measurement.round.missing), "idle": Double(measurement.round.idle),
            ], targets: targets)
    }
}
