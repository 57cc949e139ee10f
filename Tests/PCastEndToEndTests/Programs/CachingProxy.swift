import Foundation

/// nginx as a content delivery network: a cache in front of the HLS output of a platform.
struct CachingProxy: Sendable {
    /// The address below which the platform's `/video` is.
    let uri: String
    private let program: RunningProgram
    private let log: String

    /// A request to the cache.
    struct Request: Hashable, Sendable {
        /// `HIT`, `MISS`, another state of the cache, or `-` for a response that was not looked up.
        var cache: Substring
        var status: Int
        /// The path with the query.
        var path: Substring
    }

    /// Starts nginx in front of a platform on loopback.
    static func start(_ nginx: String, before platform: LocalPlatform) async throws -> CachingProxy {
        try await ChosenPort.find { port in
            let workspace = platform.workspace
            let folder = workspace.path("nginx-\(port)")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let file = "\(folder)/nginx.conf"
            try configuration(in: folder, port: port, upstream: platform.uri).write(
                toFile: file, atomically: true, encoding: .utf8)
            let program = try workspace.start(nginx, ["-c", file, "-e", "stderr"])
            // This is its last message before it serves. It ends if the port is in use.
            guard await program.messages.lines.first(where: { $0.contains("getrlimit(RLIMIT_NOFILE)") }) != nil else {
                try await program.end()
                guard program.foundPortInUse else { throw EndToEndFailure("nginx does not start\n\(program.report)") }
                return nil
            }
            return CachingProxy(uri: "http://127.0.0.1:\(port)", program: program, log: "\(folder)/requests.log")
        }
    }

    private static func configuration(in folder: String, port: Int, upstream: String) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
        return """
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log stderr notice;
            events {}
            http {
                log_format requests '$upstream_cache_status $status $request_uri';
                access_log \(folder)/requests.log requests;
                \(temporary.joined(separator: "\n    "))
                proxy_cache_path \(folder)/cache keys_zone=video:1m;
                server {
                    listen 127.0.0.1:\(port);
                    location /video/ {
                        proxy_pass \(upstream);
                        proxy_http_version 1.1;
                        proxy_set_header Connection "";
                        proxy_cache video;
                        proxy_cache_lock on;
                        # A file is requested again if its request takes longer, which is five seconds by default.
                        proxy_cache_lock_age 300s;
                        proxy_cache_lock_timeout 300s;
                        proxy_ignore_client_abort on;
                    }
                }
            }

            """
    }

    /// The requests that were answered so far.
    var requests: [Request] {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count == 3, let status = Int(words[1]) else { return nil }
            return Request(cache: words[0], status: status, path: words[2])
        }
    }

    func end() async throws { try await program.end() }
}
