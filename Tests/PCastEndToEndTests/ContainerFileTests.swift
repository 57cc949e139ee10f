import Foundation
import Testing

extension EndToEnd {
    /// The files of `packaging/container`, which are examples for users.
    @Suite("Container files")
    struct ContainerFileTests {
        private static let folder = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("packaging/container").path

        /// Runs a validator with a file, which is valid, and with a copy of it with another text, which is not.
        private func validate(
            _ validator: String, _ options: [String], _ name: String, replacing text: String, by other: String
        ) async throws {
            try await TestWorkspace.run { workspace in
                let program = "\(try #require(ThisMachine.validators))/\(validator)"
                let file = "\(Self.folder)/\(name)"
                let valid = try workspace.start(program, options + [file])
                try await valid.expectExitStatus(0)
                let content = try String(contentsOfFile: file, encoding: .utf8)
                #expect(content.contains(text), "\(name) does not contain \(text)")
                let damaged = workspace.path(name)
                try content.replacingOccurrences(of: text, with: other)
                    .write(toFile: damaged, atomically: true, encoding: .utf8)
                let invalid = try workspace.start(program, options + [damaged])
                try await invalid.expectExitStatus(1)
            }
        }

        @Test(
            "the Kubernetes manifest satisfies the strict schemas of its resources",
            .enabled(if: ThisMachine.validators != nil), .timeLimit(.minutes(5)))
        func kubernetes() async throws {
            try await validate(
                "kubernetes-validate", ["--strict"], "kubernetes.yaml", replacing: "replicas:", by: "copies:")
        }

        @Test(
            "the Compose file satisfies the schema of the Compose specification",
            .enabled(if: ThisMachine.validators != nil), .timeLimit(.minutes(5)))
        func compose() async throws {
            try await validate(
                "check-jsonschema", ["--builtin-schema", "vendor.compose-spec"], "compose.yaml",
                replacing: "read_only:", by: "read_onli:")
        }
    }
}
