import Foundation
import PCastCore
import Testing

extension EndToEnd {
    /// A window on a Wayland compositor without a graphics card. What is seen is read from the output of the compositor.
    @Suite(
        "Windows of Wayland desktops", .serialized, .timeLimit(.minutes(10)),
        .enabled(if: ThisMachine.hasWaylandWindows))
    struct WaylandWindowTests {
        private static let size = Dimensions(width: 640, height: 360)

        /// A program with a window that commands control (`PCastWindowing`).
        private struct Windowing {
            let program: RunningProgram

            init(_ variables: [String: String], in workspace: TestWorkspace) throws {
                program = try workspace.start(
                    BuiltProgram.path("PCastWindowing"), [], limit: WaylandDesktop.limit, hears: true,
                    variables: variables)
            }

            /// Sends a command and returns the answer.
            func ask(_ command: String) async throws -> String {
                let count = program.output.lines.values.count
                try program.notify(command)
                return try await line(after: count, "answer to \(command)") { !$0.hasPrefix("event ") }
            }

            /// Waits for an event that begins with a text, after a number of lines.
            func event(_ beginning: String, after count: Int) async throws {
                _ = try await line(after: count, beginning) { $0.hasPrefix("event \(beginning)") }
            }

            private func line(
                after count: Int, _ name: String, _ matches: @escaping @Sendable (String) -> Bool
            ) async throws -> String {
                guard let line = await program.output.lines.first(after: count, where: matches) else {
                    throw EndToEndFailure("there is no \(name)\n\(program.report)")
                }
                return line
            }

            /// Opens a window in which frames fill the output.
            func open() async throws {
                #expect(try await ask("window") == "made")
                #expect(try await ask("open") == "open")
                #expect(try await ask("arrange fill 0 0") == "done")
            }
        }

        /// A program that reads the number in the time strip of the output.
        private struct Screen {
            let program: RunningProgram

            init(_ variables: [String: String], in workspace: TestWorkspace) throws {
                program = try workspace.start(
                    "/usr/bin/python3", ["\(BuiltProgram.peers)/wayland_screen.py"], limit: WaylandDesktop.limit,
                    variables: variables.merging(["PYTHONDONTWRITEBYTECODE": "1"]) { _, own in own })
            }

            /// The numbers that were seen, in their order.
            var counters: [Int] { program.events("strip").compactMap { $0["counter"].number.map { Int($0) } } }

            func sees(_ counter: Int) async throws {
                _ = try await program.event("strip") { $0["counter"].number == Double(counter) }
            }
        }

        @Test("every frame of a window is seen, without OpenGL")
        func everyFrame() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                let variables = desktop.variables(try await desktop.startCompositor(Self.size))
                let screen = try Screen(variables, in: workspace)
                // The output is empty.
                _ = try await screen.program.event("strip")
                let windowing = try Windowing(variables, in: workspace)
                try await windowing.open()
                #expect(try await windowing.ask("show 640 360 1000") == "done")
                try await screen.sees(1_000)
                #expect(try await windowing.ask("drawing") == "wayland, libyuv")

                // An overloaded machine may miss a frame, so one of three runs decides.
                var reports: [String] = []
                for round in 1...3 {
                    let count = screen.counters.count
                    #expect(try await windowing.ask("run 300 30").hasPrefix("ran"))
                    // A frame of another number shows that all frames before it were read.
                    #expect(try await windowing.ask("show 640 360 \(1_000 + round)") == "done")
                    try await screen.sees(1_000 + round)
                    // The numbers of the run are 0 to 7, again and again.
                    let seen = screen.counters.dropFirst(count).dropLast()
                    let isComplete = seen.count == 300 && zip(seen, 0...).allSatisfy { $0 == $1 % 8 }
                    reports.append("\(seen.count) of 300 frames, \(try await windowing.ask("statistics"))")
                    if isComplete { break }
                    if round == 3 { Issue.record("no run was complete: \(reports)") }
                }
                print("a Wayland window: \(reports)")
                try windowing.program.notify("quit")
                try await windowing.program.expectExitStatus(0)
            }
        }

        @Test("a window that its compositor ended can be opened again on the next compositor")
        func reopened() async throws {
            try await TestWorkspace.run { workspace in
                let desktop = try await WaylandDesktop(in: workspace)
                var compositor = try await desktop.startCompositor(Self.size)
                let windowing = try Windowing(desktop.variables(compositor), in: workspace)
                try await windowing.open()
                for round in 1...3 {
                    let screen = try Screen(desktop.variables(compositor), in: workspace)
                    #expect(try await windowing.ask("show 640 360 \(round)") == "done")
                    try await screen.sees(round)
                    let count = windowing.program.output.lines.values.count
                    try await desktop.kill([compositor.program])
                    try await windowing.event("lost", after: count)
                    try await screen.program.expectExitStatus(0)
                    // Without a compositor, there is no window.
                    #expect(try await windowing.ask("open").hasPrefix("refused"))
                    compositor = try await desktop.startCompositor(Self.size)
                    #expect(try await windowing.ask("display \(compositor.display)") == "done")
                    #expect(try await windowing.ask("open") == "open")
                }
                let screen = try Screen(desktop.variables(compositor), in: workspace)
                #expect(try await windowing.ask("show 640 360 4711") == "done")
                try await screen.sees(4_711)
                try windowing.program.notify("quit")
                try await windowing.program.expectExitStatus(0)
            }
        }
    }
}
