import Foundation
import Testing

extension EndToEnd {
    /// Servers of others, to which this project's client and platform publish, and from which they watch.
    @Suite("Third-party servers", .timeLimit(.minutes(10)))
    struct ThirdPartyServerTests {
        @Test("our client publishes to Janus and watches from it", .enabled(if: ThisMachine.hasJanus))
        func janus() async throws {
            try await TestWorkspace.run { workspace in
                let network = "pcast-janus-\(getpid())"
                let namespace = "\(BuiltProgram.peers)/namespace.sh"
                let server = try workspace.start(
                    namespace, [network, "python3", "\(BuiltProgram.peers)/janus_endpoint.py"], limit: .longestSuite,
                    hears: true)
                let port = Int(try #require(try await server.event("listening")["port"].number))
                // The command runs through `env`, because sudo removes the environment.
                func client(_ arguments: String...) throws -> RunningProgram {
                    try workspace.start(
                        namespace,
                        [
                            network, "env", "PCAST_LOG_LEVEL=info", "XDG_RUNTIME_DIR=\(workspace.runtimeDirectory)",
                            BuiltProgram.path("pcast"),
                        ] + arguments + ["--json"], limit: .longestSuite)
                }
                let publisher = try client(
                    "publish", "--uri", "whip://127.0.1.1:\(port)/whip", "--video", "synthetic", "--audio", "synthetic",
                    "--size", "640x360")
                for kind in ["video", "audio"] { _ = try await server.event("received") { $0["kind"].text == kind } }

                let viewer = try client("subscribe", "--uri", "whep://127.0.1.1:\(port)/whep")
                _ = try await viewer.event("firstFrame")
                _ = try await viewer.event("dimensions") { $0["height"].number == 360 }
                _ = try await viewer.event("stats") { $0["framesDecoded"].number ?? 0 > 60 }
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                _ = try await server.event("deleted") { $0["path"].text?.hasPrefix("/whep/") == true }
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                _ = try await server.event("deleted") { $0["path"].text?.hasPrefix("/whip/") == true }
                try server.notify("enough")
                try await server.expectExitStatus(0)
            }
        }

        @Test(
            "a stream is pushed to nginx by RTMP, and pulled from it by RTMP and HLS",
            .enabled(if: ThisMachine.nginxRTMP != nil))
        func nginx() async throws {
            try await TestWorkspace.run { workspace in
                let server = try await RTMPServer.start(try #require(ThisMachine.nginxRTMP), in: workspace)
                let platform = try await NamedStreamTests.start(
                    in: workspace, "  show:\n    forward: \(server.rtmp)\n", ["--media-allow", "127.0.0.1"])
                let address = platform.uri.dropFirst("http".count)
                let publisher = try workspace.pcast(
                    "publish", "--uri", "whip\(address)/whip/show", "--video", "synthetic", "--audio", "synthetic",
                    "--size", "640x360", limit: .longestSuite)
                _ = try await publisher.event("publishing")

                // The server has no playlist before a key frame follows the first one.
                try await server.awaitPlaylist()
                try await NamedStreamTests.declare("rtmp", #"{"source":"\#(server.rtmp)"}"#, platform)
                try await NamedStreamTests.declare("hls", #"{"source":"\#(server.playlist)"}"#, platform)
                for name in ["rtmp", "hls"] {
                    try await NamedStreamTests.waitFor("live", of: name, platform)
                    let viewer = try workspace.pcast("subscribe", "--uri", "whep\(address)/whep/\(name)")
                    _ = try await viewer.event("firstFrame")
                    _ = try await viewer.event("dimensions") { $0["height"].number == 360 }
                    _ = try await viewer.event("stats") { $0["framesDecoded"].number ?? 0 > 60 }
                    viewer.send(SIGINT)
                    try await viewer.expectExitStatus(0)
                }
                publisher.send(SIGINT)
                try await publisher.expectExitStatus(0)
                try await platform.program.end()
                try await server.end()
            }
        }
    }
}

/// nginx with its module for RTMP, which also writes HLS.
private struct RTMPServer: Sendable {
    /// The address of the stream by RTMP.
    let rtmp: String
    /// The address of its playlist.
    let playlist: String
    private let program: RunningProgram
    private let file: String

    /// Starts the server on loopback.
    static func start(_ paths: (program: String, module: String), in workspace: TestWorkspace) async throws
        -> RTMPServer
    {
        try await ChosenPort.find(count: 2) { port in
            let folder = workspace.path("nginx-\(port)")
            try FileManager.default.createDirectory(
                atPath: "\(folder)/hls", withIntermediateDirectories: true)
            let file = "\(folder)/nginx.conf"
            try configuration(in: folder, module: paths.module, port: port).write(
                toFile: file, atomically: true, encoding: .utf8)
            let program = try workspace.start(paths.program, ["-c", file, "-e", "stderr"], limit: .longestSuite)
            // This is its last message before it serves. It ends if a port is in use.
            guard await program.messages.lines.first(where: { $0.contains("getrlimit(RLIMIT_NOFILE)") }) != nil else {
                try await program.end()
                guard program.foundPortInUse else { throw EndToEndFailure("nginx does not start\n\(program.report)") }
                return nil
            }
            return RTMPServer(
                rtmp: "rtmp://127.0.0.1:\(port)/live/show", playlist: "http://127.0.0.1:\(port + 1)/hls/show.m3u8",
                program: program, file: "\(folder)/hls/show.m3u8")
        }
    }

    private static func configuration(in folder: String, module: String, port: Int) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder)/\($0);" }
        return """
            load_module \(module);
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log stderr notice;
            events {}
            rtmp {
                access_log off;
                server {
                    listen 127.0.0.1:\(port);
                    chunk_size 4096;
                    application live { live on; hls on; hls_path \(folder)/hls; hls_fragment 1s; }
                }
            }
            http {
                access_log off;
                \(temporary.joined(separator: "\n    "))
                types { application/vnd.apple.mpegurl m3u8; video/mp2t ts; }
                server { listen 127.0.0.1:\(port + 1); root \(folder); }
            }

            """
    }

    /// Waits until the stream has a playlist.
    func awaitPlaylist() async throws {
        let end = ContinuousClock.now + .timeout
        while !FileManager.default.fileExists(atPath: file) {
            guard ContinuousClock.now < end else { throw EndToEndFailure("nginx has no playlist\n\(program.report)") }
            try await ContinuousClock().sleep(for: .milliseconds(50))
        }
    }

    func end() async throws { try await program.end() }
}
