import Foundation
import Testing

@testable import PCastPlayback

/// The options with which the browser of an overlay page is started.
@Suite("The browser of an overlay page") struct BrowserTests {
    /// A program in place of Chromium that records its arguments.
    private struct Impostor {
        let folder: URL

        init() throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let script = """
                #!/bin/sh
                for argument; do
                    case "$argument" in --user-data-dir=*) stat -c %a "${argument#*=}" > '\(folder.path)/mode' ;; esac
                done
                echo "$@" > '\(folder.path)/arguments.new'
                mv '\(folder.path)/arguments.new' '\(folder.path)/arguments'
                cat <&3 > /dev/null
                """
            try script.write(toFile: program, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        }

        var program: String { folder.appendingPathComponent("browser").path }

        func note(_ name: String) -> String? {
            try? String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }

        /// Waits until the program has run.
        func arguments() async throws -> String? {
            for _ in 0..<9_000 {
                if let arguments = note("arguments") { return arguments }
                // The note ends the wait. The pause only prevents polling from using a whole processor.
                try await ContinuousClock().sleep(for: .milliseconds(10))
            }
            return nil
        }
    }

    @Test(
        "as root no browser runs without a sandbox unless it is requested",
        .enabled(if: geteuid() == 0, "left out: a browser of root: these tests run as another user"))
    func root() async throws {
        let impostor = try Impostor()
        defer { try? FileManager.default.removeItem(at: impostor.folder) }
        let error = #expect(throws: PageError.self) { _ = try Browser(impostor.program) { _, _ in } }
        #expect("\(try #require(error))".contains("--overlay-without-sandbox"))
        let browser = try Browser(impostor.program, isSandboxed: false) { _, _ in }
        #expect(try await impostor.arguments()?.contains("--no-sandbox") == true)
        browser.end(.ended("the test is over"))
        await browser.awaitExit()
    }

    @Test("the browser's profile is accessible to its user only") func profile() async throws {
        let impostor = try Impostor()
        defer { try? FileManager.default.removeItem(at: impostor.folder) }
        let browser = try Browser(impostor.program, isSandboxed: geteuid() != 0) { _, _ in }
        #expect(try await impostor.arguments() != nil)
        #expect(impostor.note("mode") == "700")
        browser.end(.ended("the test is over"))
        await browser.awaitExit()
    }
}
