import Foundation
import PCastCore
import PCastIO
import PCastWeb

/// The cost of a request.
struct RequestCost: Sendable {
    /// The CPU time of the server for a request, less that of its other work, in microseconds.
    let microseconds: Double
    /// The size of a response in bytes.
    let size: Int

    /// The bytes that a core sends in a second.
    var bytesPerSecond: Double { Double(size) / microseconds * 1e6 }
}

/// A file of a server that is requested many times.
struct RequestTarget: Sendable {
    /// The number of connections, each of which has one request at a time.
    private static let connections = 16

    let uri: String
    /// The number of bytes from the beginning that are requested; nil for the whole file.
    var length: Int?

    /// Requests the file many times over 16 connections, and measures the CPU time of the server.
    ///
    /// - Parameters:
    ///   - count: The number of requests.
    ///   - server: The server's process.
    ///   - share: The share of a core that the server uses without the requests.
    /// - Returns: The cost of a request.
    /// - Throws: `BenchFailure` if a request fails.
    func cost(count: Int, server: Int32, share: Double) async throws -> RequestCost {
        let each = max(count / Self.connections, 1)
        let pool = HTTPRequests.ConnectionPool(connections: Self.connections)
        let (time, start) = (Processor.time(of: server), MonotonicClock.now())
        let sizes = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<Self.connections { group.addTask { await request(count: each, by: pool) } }
            return await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        let used = Processor.time(of: server) - time
        let idle = (MonotonicClock.now() - start).seconds * share
        await pool.close()
        guard !sizes.contains(nil), let size = sizes.compactMap({ $0 }).max() else {
            throw BenchFailure("a request of \(uri) failed")
        }
        return RequestCost(
            microseconds: (used.seconds - idle) / Double(each * Self.connections) * 1e6, size: size)
    }

    /// Requests the file several times. Returns the size of the response; nil if a request fails.
    private func request(count: Int, by pool: HTTPRequests.ConnectionPool) async -> Int? {
        let headers = length.map { [(name: "Range", value: "bytes=0-\($0 - 1)")] } ?? []
        var size: Int?
        for _ in 0..<count {
            guard let response = try? await pool.get(uri, headers: headers),
                response.status == (length == nil ? 200 : 206)
            else { return nil }
            size = response.body.count
        }
        return size
    }
}

/// nginx as a child process of one thread, which serves files from a folder as its manual recommends: `sendfile`,
/// connections that stay open, no log of requests.
final class NginxServer: Sendable {
    private static let port = 18_089

    /// The path of the installed program, or of the copy that `scripts/peers` unpacked; nil if there is neither.
    static var path: String? {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        return ["/usr/sbin/nginx", "\(cache)/pcast/nginx/usr/sbin/nginx"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    private let process = Process()
    private let folder: URL

    /// Starts nginx with files, and waits until it serves them.
    ///
    /// - Parameter files: The content of each file by its name.
    /// - Throws: `BenchFailure` if nginx is not installed or does not serve, or the error of the start.
    init(files: [String: [UInt8]]) async throws {
        guard let path = Self.path else { throw BenchFailure("nginx is not installed: run scripts/peers") }
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-nginx-\(getpid())")
        let root = folder.appendingPathComponent("files")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        for (name, content) in files { try Data(content).write(to: root.appendingPathComponent(name)) }
        let configuration = folder.appendingPathComponent("nginx.conf")
        try Self.configuration(in: folder.path).write(to: configuration, atomically: true, encoding: .utf8)
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["-c", configuration.path, "-e", "stderr"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        guard let name = files.keys.first else { return }
        let deadline = MonotonicClock.now() + .seconds(10 as Int64)
        while (try? await HTTPRequests.send("GET", uri(of: name)))?.status != 200 {
            guard process.isRunning, MonotonicClock.now() < deadline else {
                stop()
                throw BenchFailure("nginx does not serve on port \(Self.port): is another program using it?")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func configuration(in folder: String) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
        return """
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log stderr crit;
            events {}
            http {
                access_log off;
                sendfile on;
                tcp_nopush on;
                open_file_cache max=100;
                keepalive_requests 10000000;
                types { application/vnd.apple.mpegurl m3u8; video/mp4 m4s; }
                \(temporary.joined(separator: "\n    "))
                server {
                    listen 127.0.0.1:\(port);
                    root \(folder)/files;
                }
            }

            """
    }

    var processID: Int32 { process.processIdentifier }

    /// Returns the address of a file.
    func uri(of name: String) -> String { "http://127.0.0.1:\(Self.port)/\(name)" }

    /// Ends nginx and removes its files.
    func stop() {
        // SIGKILL, because the program inherits the signals that the thread which started it blocks, such as SIGTERM.
        kill(processID, SIGKILL)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }
}
