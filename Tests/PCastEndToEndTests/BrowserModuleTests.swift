import Foundation
import PCastCore
import PCastTestSupport
import PCastTimeline
import Testing

extension EndToEnd {
    /// The JavaScript module of a platform, `/pcast.mjs`.
    @Suite("The module for browsers", .timeLimit(.minutes(6)))
    struct BrowserModuleTests {
        @Test(
            "A page of another origin watches, listens, saves a frame, publishes, and sees a goal on its own frame",
            .enabled(if: !ThisMachine.browsers.isEmpty), arguments: ThisMachine.browsers)
        func page(browser: String) async throws {
            try await TestWorkspace.run { workspace in
                let platform = try await LocalPlatform.start(in: workspace)
                let publisher = try workspace.pcast(
                    "publish", "--uri", platform.uri, "--token", try await platform.publishingToken(), "--video",
                    "synthetic", "--audio", "synthetic", "--size", "640x360", "--codec", "vp8")
                let stream = try #require(try await publisher.event("publishing")["streamId"].text)
                let late = try await workspace.token(
                    LocalPlatform.application, "--type", "stream", "--stream", stream, "--capability",
                    "playout-buffer=PT1S")
                var options = [
                    "--url", platform.uri, "--browser", browser, "--application", LocalPlatform.application, "--stream",
                    stream, "--token", try await platform.viewingToken(stream), "--late-token", late, "--any-token",
                    try await workspace.token(LocalPlatform.application, "--type", "stream"), "--publish-token",
                    try await platform.publishingToken(),
                ]
                if let folder = ProcessInfo.processInfo.environment["PCAST_SCREENSHOTS"] {
                    options += ["--screenshots", folder]
                }
                let peer = try Peer("browser_module.py", options, in: nil, of: workspace, seconds: 60)
                _ = await peer.program.output.lines.first(within: .longestRun) { $0 == "end the stream" }
                try await platform.end(stream, reason: "censored")
                let figures = try await peer.figures()
                print(
                    "\(figures["peer"].text ?? ""): errors of the time of frames: \(figures["timeErrors"]) ms, "
                        + "\(figures["near"]), \(figures["late"])")
                _ = try await publisher.exitStatus()
                try await platform.program.end()
            }
        }

        // MARK: The gate

        /// The folder of the module's files.
        private static let folder = "\(BuiltProgram.repository)/Sources/PCastPlatform/Pages"

        /// Runs the steps of standard input, one JSON value a line: a time to move to, or an array of revisions.
        private static let script = """
            import { readFileSync } from "node:fs";
            import { TimelineCursor } from "./timeline-log.mjs";
            const cursor = new TimelineCursor();
            for (const line of readFileSync(process.argv[2], "utf8").trim().split("\\n")) {
              const step = JSON.parse(line);
              const deliveries = Array.isArray(step) ? cursor.take(step) : cursor.move(step);
              console.log(JSON.stringify(deliveries.map(({ type, id, reason, seq, at, gate }) =>
                [type, id ?? "game", reason ?? "-", seq, at, gate].join(" "))));
            }
            """

        @Test(
            "The module delivers the same as the player does, for random logs and moments",
            .enabled(if: ThisMachine.hasNode), arguments: 1...8 as ClosedRange<UInt64>)
        func gate(seed: UInt64) async throws {
            try await TestWorkspace.run { workspace in
                let (steps, expected) = try Self.story(seed)
                let files = FileManager.default
                try files.copyItem(
                    atPath: "\(Self.folder)/timeline-log.mjs", toPath: workspace.path("timeline-log.mjs"))
                try Self.script.write(toFile: workspace.path("gate.mjs"), atomically: true, encoding: .utf8)
                try (steps.joined(separator: "\n") + "\n").write(
                    toFile: workspace.path("steps.jsonl"), atomically: true, encoding: .utf8)
                let output = try await workspace.run(
                    "node", [workspace.path("gate.mjs"), workspace.path("steps.jsonl")]
                ).output
                try #require(output.count == expected.count)
                for (index, line) in output.enumerated() {
                    let received = try JSONDecoder().decode([String].self, from: Data(line.utf8))
                    #expect(received == expected[index], "seed \(seed), step \(index): \(steps[index])")
                }
                #expect(expected.joined().count > 100)
            }
        }

        /// Random steps, and what the player's cursor delivers at each.
        private static func story(_ seed: UInt64) throws -> (steps: [String], expected: [[String]]) {
            var generator = SeededGenerator(seed: seed)
            var (steps, expected): ([String], [[String]]) = ([], [])
            var log = TimelineLog()
            var cursor = TimelineCursor()
            for _ in 0..<300 {
                if Bool.random(using: &generator), log.newest.value < 120 {
                    let before = log.newest
                    for _ in 0..<Int.random(in: 1...4, using: &generator) { try change(&log, using: &generator) }
                    let revisions = Array(log.changes(since: before))
                    let lines = revisions.map { String(decoding: $0.bytes, as: UTF8.self) }
                    steps.append("[\(lines.joined(separator: ","))]")
                    expected.append(try cursor.take(revisions).map(line))
                } else {
                    let moment = Int64.random(in: 0...40, using: &generator) * 500
                    steps.append("\(moment)")
                    expected.append(cursor.move(to: WallTime(millisecondsSinceEpoch: moment)).map(line))
                }
            }
            return (steps, expected)
        }

        /// Makes a random change of a log.
        private static func change(_ log: inout TimelineLog, using generator: inout SeededGenerator) throws {
            let recorded = WallTime(millisecondsSinceEpoch: Int64.random(in: 0...40, using: &generator) * 500)
            let id = try TimelineEventID("event \(Int.random(in: 1...6, using: &generator))")
            var request = TimelineRequest.Change.delete(id)
            if Int.random(in: 0..<8, using: &generator) == 0 {
                var info = GameInfo()
                info.venueName = "venue \(Int.random(in: 1...1000, using: &generator))"
                request = .info(info)
            } else if log.event(id) == nil || Int.random(in: 0..<3, using: &generator) > 0 {
                var event = GameEvent()
                let at = WallTime(millisecondsSinceEpoch: Int64.random(in: 0...40, using: &generator) * 500)
                event.timestamp = Timestamp.text(at)
                event.description = "\(Int.random(in: 1...1000, using: &generator))"
                request = .put(id, event)
            }
            if let revision = try log.revision(for: TimelineRequest(request), at: recorded) { try log.append(revision) }
        }

        /// A delivery as the script writes it.
        private static func line(_ delivery: TimelineDelivery) -> String {
            let type = delivery.info == nil ? delivery.type.rawValue : "info"
            return [
                type, delivery.eventID.map { "\($0)" } ?? "game", delivery.reason?.rawValue ?? "-",
                "\(delivery.number.value)", "\(delivery.at.millisecondsSinceEpoch)",
                "\(delivery.gate.millisecondsSinceEpoch)",
            ].joined(separator: " ")
        }

        // MARK: Types

        @Test("The module's types are right", .enabled(if: ThisMachine.hasTypeScript))
        func types() async throws {
            try await TestWorkspace.run { workspace in
                // As a platform serves the files.
                let files = FileManager.default
                try files.createDirectory(atPath: workspace.path("assets"), withIntermediateDirectories: true)
                for name in try files.contentsOfDirectory(atPath: Self.folder) where name.hasSuffix(".mjs") {
                    let target = name == "pcast.mjs" ? name : "assets/\(name)"
                    try files.copyItem(atPath: "\(Self.folder)/\(name)", toPath: workspace.path(target))
                }
                let checked = try await workspace.run(
                    "tsc",
                    [
                        "--allowJs", "--checkJs", "--noEmit", "--strict", "--target", "es2022", "--module", "es2022",
                        "--moduleResolution", "node", "--lib", "es2022,dom,dom.iterable", workspace.path("pcast.mjs"),
                    ])
                #expect(checked.output.isEmpty)
            }
        }
    }
}
