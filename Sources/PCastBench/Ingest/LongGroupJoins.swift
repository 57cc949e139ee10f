import Foundation
import Glibc
import PCast
import PCastCodecs
import PCastCore
import PCastIO
import PCastJSON
import PCastTestSupport
import PCastWeb
import Synchronization

/// Joins to an encoder with the defaults of OBS: x264 `veryfast`, 2.5 Mbit/s with a constant bit rate, B-frames, and a key
/// frame each 250 frames.
struct LongGroupJoins {
    /// The number of joins.
    let count: Int

    /// The link of the viewers: 10 Mbit/s, and a round-trip time of 50 ms.
    private static let link = LinkConditions(
        delay: .milliseconds(25), rate: Bitrate(bitsPerSecond: 10_000_000), queue: .span(.milliseconds(200)))
    private static let application = "bench"
    /// The address of the link's end for viewers.
    private static let far = IPAddress(v4: 0x7F00_0002)
    /// The time in which the stream begins, and in which a viewer shows its first frame.
    private static let timeout = TimeSpan.seconds(20)

    /// The results of all joins, in milliseconds. A join without a frame is infinite.
    struct Result {
        var firstFrames: [Double] = []
        /// The latencies in the third second after the first frame, beyond that of a viewer without the link.
        var behind: [Double] = []
    }

    /// Measures the joins one after another, at random moments. Throws `BenchFailure` if the encoder is not published.
    func measure(_ report: inout Report) async throws -> Result {
        let secret = FanOutSetup.randomSecret()
        let platform = try PCastProcess(
            [
                "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--rtmp-port", "0", "--renditions", "all",
                "--max-renditions", "1", "--advertise", "\(Self.far)",
            ], environment: ["PCAST_SERVE_APPLICATION": "\(Self.application):\(secret)"])
        defer { platform.stop() }
        let listening = try await platform.next("listening")
        guard case .string(let uri)? = listening["uri"],
            let web = uri.split(separator: ":").last.flatMap({ UInt16($0) }), let rtc = listening["rtcPort"]?.number,
            let rtmp = listening["rtmpPort"]?.number
        else { throw BenchFailure("the platform did not report its ports") }
        // Only the network of the viewers that join is slow.
        var conditions = NetworkConditions(Self.link)
        conditions.exempt = .loopbackV4
        let ports = Set([web, UInt16(rtc)]).map { port in
            ImpairedLink.Port(
                address: TransportAddress(ip: Self.far, port: port),
                server: TransportAddress(ip: .loopbackV4, port: port))
        }
        let link = try ImpairedLink(ports, conditions)
        defer { link.stop() }
        let encoder = try LongGroupEncoder(to: "rtmp://127.0.0.1:\(Int(rtmp))/ingest")
        defer { encoder.stop() }
        let stream = try await Self.stream(of: uri, "\(Self.application):\(secret)")
        let near = try Viewing(uri: uri, application: Self.application, secret: secret, stream: stream)
        let reference = try await ReferenceViewer(near)
        let result = try await join(
            Viewing(uri: "http://\(Self.far):\(web)", application: Self.application, secret: secret, stream: stream),
            reference)
        await reference.stop()
        let shown = result.firstFrames.filter(\.isFinite)
        report.row(
            "\(count) joins",
            [
                "withoutFrame": Double(count - shown.count), "firstFrameP50": Percentile.of(result.firstFrames, 0.5),
                "firstFrameP95": Percentile.of(result.firstFrames, 0.95), "firstFrameMax": shown.max(),
                "behindP50": Percentile.of(result.behind, 0.5), "behindP95": Percentile.of(result.behind, 0.95),
                "behindMax": result.behind.max(),
            ])
        return result
    }

    /// Returns the only stream of the platform. Throws `BenchFailure` if there is none in time.
    private static func stream(of uri: String, _ credentials: String) async throws -> StreamID {
        struct Page: Decodable {
            struct Stream: Decodable { let streamId: String }
            let streams: [Stream]
        }
        let deadline = MonotonicClock.now() + timeout
        while MonotonicClock.now() < deadline {
            let answer = try await HTTPRequests.send(
                "GET", uri + "/pcast/streams",
                headers: [("Authorization", "Basic \(Base64.encode(Array(credentials.utf8)))")])
            let page = try? JSONDecoder().decode(Page.self, from: Data(answer.body))
            if let stream = page?.streams.first { return StreamID(stream.streamId) }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchFailure("ffmpeg does not publish by RTMP: it needs libx264")
    }

    private func join(_ viewing: Viewing, _ reference: ReferenceViewer) async throws -> Result {
        var generator = SeededGenerator(seed: 1)
        var result = Result()
        let pcast = PCast(PCastOptions(uri: viewing.uri))
        _ = try await pcast.start(authenticationToken: viewing.authenticationToken)
        for _ in 0..<count {
            // The joins are at any moment between two key frames, which are 8.3 s apart.
            try await Task.sleep(for: .milliseconds(Int64.random(in: 100...1_500, using: &generator)))
            let (first, latency) = try await watch(viewing, pcast)
            result.firstFrames.append(first?.milliseconds ?? .infinity)
            let live = reference.latency
            result.behind.append(latency.flatMap { latency in live.map { latency - $0 } } ?? .infinity)
        }
        await pcast.shutdown()
        return result
    }

    /// Watches until three seconds after the first frame. Returns the time to the first frame, and the latency of the last
    /// second; nil without frames.
    private func watch(_ viewing: Viewing, _ pcast: PCast) async throws -> (first: TimeSpan?, latency: Double?) {
        let beginning = MonotonicClock.now()
        let stream = try await pcast.subscribe(streamToken: viewing.viewingToken, streamID: viewing.streamID)
        let renderer = stream.createRenderer(.nullDevices)
        try renderer.start()
        let watchdog = Task {
            try await Task.sleep(for: .seconds(Self.timeout.seconds))
            renderer.stop()
        }
        let first = await renderer.firstFrame
        watchdog.cancel()
        var latency: Double?
        if let first {
            for await statistics in renderer.statistics {
                latency = statistics.latencyP50?.milliseconds
                if MonotonicClock.now() - first >= .seconds(3) { break }
            }
        }
        renderer.stop()
        stream.stop()
        return (first.map { $0 - beginning }, latency)
    }
}

/// A viewer without an impaired link, which stays. Its latency is that of the live edge: it contains the delays of the
/// encoder.
private final class ReferenceViewer: Sendable {
    private let pcast: PCast
    private let task: Task<Void, Never>
    private let current: Current

    private final class Current: Sendable {
        let latency = Mutex<Double?>(nil)
    }

    /// Joins, and returns when the latency is known. Throws `BenchFailure` if it is not in time.
    init(_ viewing: Viewing) async throws {
        let current = Current()
        self.current = current
        pcast = PCast(PCastOptions(uri: viewing.uri))
        _ = try await pcast.start(authenticationToken: viewing.authenticationToken)
        let stream = try await pcast.subscribe(streamToken: viewing.viewingToken, streamID: viewing.streamID)
        let renderer = stream.createRenderer(.nullDevices)
        try renderer.start()
        task = Task {
            for await statistics in renderer.statistics {
                guard let latency = statistics.latencyP50?.milliseconds else { continue }
                current.latency.withLock { $0 = latency }
            }
            withExtendedLifetime(stream) {}
        }
        let deadline = MonotonicClock.now() + .seconds(30)
        while latency == nil {
            guard MonotonicClock.now() < deadline else {
                throw BenchFailure("a viewer without an impaired link shows no frames")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// The median latency of the last second with frames, in milliseconds.
    var latency: Double? { current.latency.withLock { $0 } }

    func stop() async {
        task.cancel()
        await pcast.shutdown()
    }
}

/// A process of ffmpeg that encodes stamped frames in real time as OBS does by default, and publishes them by RTMP.
private final class LongGroupEncoder: Sendable {
    private static let frameRate = 30

    private let process = Process()
    private let writer: WorkerThread
    private let state = State()

    private final class State: Sendable {
        let isStopped = Atomic(false)
    }

    /// Starts ffmpeg. Throws `BenchFailure` if it is not installed.
    init(to address: String) throws {
        // Otherwise the end of ffmpeg would end this program.
        signal(SIGPIPE, SIG_IGN)
        let pictures = Pipe()
        process.executableURL = try SystemProgram.url(of: "ffmpeg")
        process.arguments = [
            "-v", "error", "-f", "yuv4mpegpipe", "-i", "pipe:0", "-f", "lavfi", "-i", "sine=f=440:r=48000", "-shortest",
            "-c:v", "libx264", "-preset", "veryfast", "-g", "250", "-b:v", "2500k", "-maxrate", "2500k",
            "-bufsize", "2500k", "-x264-params", "nal-hrd=cbr", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "160k",
            "-ac", "2", "-f", "flv", address,
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = pictures
        try process.run()
        let (state, descriptor) = (state, dup(pictures.fileHandleForWriting.fileDescriptor))
        try pictures.fileHandleForWriting.close()
        writer = try WorkerThread(name: "encoder") { Self.write(to: descriptor, state) }
    }

    /// Writes the frames at their times, until the encoder is stopped or ffmpeg has ended.
    private static func write(to descriptor: Int32, _ state: State) {
        guard let file = fdopen(descriptor, "w") else { return }
        defer { fclose(file) }
        fputs(StampedVideo.header(rate: frameRate), file)
        let (pool, start) = (VideoFramePool(), MonotonicClock.now())
        var index = 0
        while !state.isStopped.load(ordering: .relaxed) {
            let due = start + TimeSpan.seconds(1) * Int64(index) / Int64(frameRate)
            let wait = due - MonotonicClock.now()
            if wait > .zero { usleep(UInt32(wait.nanoseconds / 1_000)) }
            guard StampedVideo.write(index, at: MonotonicClock.wallTime(), to: file, pool) else { return }
            fflush(file)
            index += 1
        }
    }

    func stop() {
        state.isStopped.store(true, ordering: .relaxed)
        // A thread that waits for space in the pipe continues then.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        writer.join()
    }
}
