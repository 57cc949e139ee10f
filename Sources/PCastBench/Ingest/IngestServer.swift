import CLinux
import Foundation
import PCastCore
import PCastIO
import PCastJSON

/// A server of RTMP publishers in processes of its own.
protocol IngestServer: Sendable {
    /// The port for RTMP on loopback.
    var port: Int { get }
    /// The application of addresses.
    var application: String { get }
    /// The process that receives the publishers.
    var processID: Int32 { get }
    /// Returns the key of a publisher.
    func key(_ index: Int) -> String
    /// Ends the server.
    func stop()
}

extension IngestServer {
    /// The resources that a server uses.
    var usage: IngestUsage {
        let children = Processor.children(of: processID)
        return IngestUsage(
            time: Processor.time(of: processID),
            childTime: children.reduce(TimeSpan.zero) { $0 + Processor.time(of: $1) },
            memory: Processor.residentMemory(of: processID) ?? 0,
            childMemory: children.reduce(0) { $0 + (Processor.proportionalMemory(of: $1) ?? 0) })
    }
}

/// The CPU time and memory of a server at one moment.
struct IngestUsage: Sendable {
    /// The CPU time of the process that receives the publishers.
    let time: TimeSpan
    /// The CPU time of its children, which transcode audio.
    let childTime: TimeSpan
    /// The resident memory of the process in bytes.
    let memory: Double
    /// The memory of its children in bytes, with their share of pages that they have in common.
    let childMemory: Double
}

/// `pcast serve` with an RTMP port, whose publishers of this host need no key.
struct PlatformIngestServer: IngestServer {
    private let process: PCastProcess
    let port: Int
    let application = "ingest"

    /// Starts the platform. Throws `BenchFailure` if it does not report its port.
    static func start() async throws -> PlatformIngestServer {
        let process = try PCastProcess(
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--rtmp-port", "0"],
            environment: ["PCAST_SERVE_APPLICATION": "bench:\(UInt64.random(in: 0...UInt64.max))"])
        do {
            guard case .number(let number)? = try await process.next("listening")["rtmpPort"], let port = number.integer
            else {
                throw BenchFailure("the platform did not report its port for RTMP")
            }
            return PlatformIngestServer(process: process, port: Int(port))
        } catch {
            process.stop()
            throw error
        }
    }

    private init(process: PCastProcess, port: Int) {
        self.process = process
        self.port = port
    }

    var processID: Int32 { process.processID }

    func key(_ index: Int) -> String { "" }

    func stop() { process.stop() }
}

/// Debian's nginx with its RTMP module (libnginx-mod-rtmp), as one process that only receives.
final class NginxIngestServer: IngestServer {
    let port = 19_351
    let application = "live"
    private let process = Process()
    private let folder: URL

    /// Whether nginx and its module are installed.
    static var isInstalled: Bool { root != nil }

    /// The prefix of the installed packages, or of the copies that `scripts/peers` has unpacked; nil if there are none.
    private static var root: String? {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        return ["", "\(cache)/pcast/nginx"].first { prefix in
            ["\(prefix)/usr/sbin/nginx", module(prefix)].allSatisfy { FileManager.default.fileExists(atPath: $0) }
        }
    }

    private static func module(_ prefix: String) -> String { "\(prefix)/usr/lib/nginx/modules/ngx_rtmp_module.so" }

    /// Starts nginx. Throws `BenchFailure` if it is not installed or does not listen.
    init() async throws {
        guard let root = Self.root else { throw BenchFailure("nginx-rtmp is not installed: run scripts/peers") }
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-nginx-\(getpid())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let configuration = """
            load_module \(Self.module(root));
            daemon off;
            master_process off;
            worker_processes 1;
            pid \(folder.path)/nginx.pid;
            error_log \(folder.path)/error.log;
            events { worker_connections 4096; }
            rtmp { access_log off; server { listen 127.0.0.1:\(port); chunk_size 4096; application live { live on; } } }
            """
        let file = folder.appendingPathComponent("nginx.conf")
        try Data(configuration.utf8).write(to: file)
        process.executableURL = URL(fileURLWithPath: "\(root)/usr/sbin/nginx")
        process.arguments = ["-p", folder.path, "-e", "\(folder.path)/error.log", "-c", file.path]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        let deadline = MonotonicClock.now() + .seconds(10)
        while !TCPProbe.accepts(port) {
            guard MonotonicClock.now() < deadline, process.isRunning else {
                stop()
                throw BenchFailure("nginx does not listen on port \(port)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    var processID: Int32 { process.processIdentifier }

    func key(_ index: Int) -> String { "publisher-\(index)" }

    func stop() {
        // SIGKILL, because the program inherits the signals that the thread which started it blocks, such as SIGTERM.
        kill(processID, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}

/// A test whether a port of this host accepts connections.
private enum TCPProbe {
    static func accepts(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
