import Foundation
import Testing

extension EndToEnd {
    /// Cameras, microphones and sensors with the kernel's real drivers in a virtual machine.
    @Suite("Virtual machine", .enabled(if: ThisMachine.hasVirtualMachine))
    struct VirtualMachineTests {
        /// Each of `Tests/PCastHardwareTests` must run there. The script fails if one was omitted or none ran. Two
        /// machines share the work, because each has one processor. `scripts/test` runs them with the lowest priority.
        @Test("the tests on real drivers succeed in the virtual machine", .timeLimit(.minutes(45)))
        func hardware() async throws {
            try await TestWorkspace.run { workspace in
                let bundle = try BuiltProgram.testBundle()
                let cameras = "Hardware/Camera[a-zA-Z]*Tests/"
                let limits = ["PCAST_TEST_BUNDLE=\(bundle)", "PCAST_MACHINE_LIMIT=2400"]
                let machines = try [cameras, "!\(cameras)"].map { filter in
                    try workspace.start(
                        "/usr/bin/env", limits + [BuiltProgram.machine, "test", filter], limit: .seconds(2_460))
                }
                for machine in machines {
                    let status = try await machine.exitStatus(within: .seconds(2_480))
                    let lines = machine.output.lines.values
                    let summary = lines.filter { $0.contains("Test run with") || $0.hasPrefix("machine:") }
                    print("In the virtual machine: \(summary.joined(separator: "; "))")
                    guard status == 0 else {
                        let troubles = lines.filter { $0.hasPrefix("✘") }.joined(separator: "\n")
                        throw EndToEndFailure("tests in the virtual machine fail\n\(troubles)\n\(machine.report)")
                    }
                    #expect(summary.contains { $0.contains("passed") }, "\(machine.report)")
                }
            }
        }

        /// The color bars of vivid in full color, by ITU-R BT.601.
        private static let bars = [
            [235, 128, 128], [210, 16, 146], [170, 166, 16], [145, 54, 34], [106, 202, 222], [81, 90, 240],
            [41, 240, 110], [16, 128, 128],
        ]

        /// QEMU's network maps this machine's loopback interface to 10.0.2.2, inside an isolated network.
        @Test(
            "camera and microphone of the virtual machine are published and watched outside",
            .enabled(if: ThisMachine.hasNamespaces && ThisMachine.hasFFmpeg), .timeLimit(.minutes(15)))
        func publish() async throws {
            try await TestWorkspace.run { workspace in
                let network = "pcast-machine-\(getpid())"
                let platform = try await Self.platform(in: network, of: workspace)
                let machine = try await Self.publisher(to: platform, in: network)
                guard let stream = try await machine.event("publishing", within: .seconds(500))["streamId"].text else {
                    throw EndToEndFailure("no stream is notified\n\(machine.report)")
                }
                let (frame, recording) = (workspace.path("picture.png"), workspace.path("recording.mp4"))
                let viewer = try workspace.start(
                    "\(BuiltProgram.peers)/namespace.sh",
                    [
                        network, BuiltProgram.path("pcast"), "subscribe", "--uri", platform.uri, "--token",
                        try await platform.viewingToken(stream), "--screenshot", frame, "--record", recording, "--json",
                    ])
                // The machine is slow, and may take long for its frames.
                _ = try await viewer.event("stats", within: .seconds(240)) { $0["framesRendered"].number ?? 0 > 10 }
                try await viewer.awaitStatistics(6)
                viewer.send(SIGINT)
                try await viewer.expectExitStatus(0)
                try await Self.check(frame, of: workspace)
                // A tone is played to the microphone.
                #expect(try await MediaFile(path: recording, workspace: workspace).loudness() > -40)
                let frames = try await MediaFile(path: recording, workspace: workspace).track("video").frames
                print("Of a camera in the virtual machine \(frames) frames were recorded")
                #expect(frames > 6, "\(machine.report)")
                try await machine.end()
                try await platform.program.end()
            }
        }

        private static func platform(in network: String, of workspace: TestWorkspace) async throws -> LocalPlatform {
            let program = try workspace.start(
                "\(BuiltProgram.peers)/namespace.sh",
                [
                    network, "env", "PCAST_LOG_LEVEL=info", "XDG_RUNTIME_DIR=\(workspace.runtimeDirectory)",
                    BuiltProgram.path("pcast"), "serve", "--listen", "127.0.0.1:8080", "--advertise", "127.0.0.1",
                    "--advertise", "10.0.2.2", "--application", LocalPlatform.application, "--json",
                ], limit: .longestSuite)
            return try await LocalPlatform(program, in: workspace)
        }

        /// Starts the machine with `pcast publish` in it.
        private static func publisher(to platform: LocalPlatform, in network: String) async throws -> RunningProgram {
            let pcast = try BuiltProgram.path("pcast")
            let tools = ["v4l2-ctl", "speaker-test"].compactMap(BuiltProgram.installed)
            let publishing = """
                v4l2-ctl -d /dev/video0 -c test_pattern=1,osd_text_mode=2
                speaker-test -D hw:0,0 -F S16_LE -r 48000 -c 2 -t sine -f 440 >/dev/null 2>&1 &
                exec "$0" publish --uri http://10.0.2.2:8080 --token "$1" --json --size 320x180 --fps 15 \
                    --video camera --audio microphone:CARD=Loopback,DEV=1
                """
            return try platform.workspace.start(
                "\(BuiltProgram.peers)/namespace.sh",
                [
                    network, "env", "PCAST_MACHINE_TIME=real", "PCAST_MACHINE_NETWORK=1", "PCAST_MACHINE_LIMIT=800",
                    "PCAST_MACHINE_MODULES=vivid,snd-aloop", BuiltProgram.machine, "run", pcast, "/usr/share/alsa",
                ] + tools + ["--", "bash", "-c", publishing, pcast, try await platform.publishingToken()],
                limit: .seconds(860))
        }

        /// Checks the middles of the bars, each 40 pixels wide.
        private static func check(_ screenshot: String, of workspace: TestWorkspace) async throws {
            let (width, height) = (320, 180)
            let frame = try #require(
                await MediaFile(path: screenshot, workspace: workspace).frames(
                    width: width, height: height, format: "yuv444p", byteCount: width * height * 3
                ).first)
            for (index, bar) in bars.enumerated() {
                let workspace = frame.startIndex + height / 2 * width + index * 40 + 20
                let seen = (0..<3).map { Int(frame[workspace + $0 * width * height]) }
                #expect(zip(seen, bar).allSatisfy { abs($0 - $1) < 16 }, "bar \(index) is \(seen)")
            }
        }
    }
}
