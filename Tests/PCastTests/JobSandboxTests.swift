import PCastIO
import Synchronization
import Testing

@testable import PCast

/// The sandbox of a worker, and its failures.
@Suite("The sandbox of a worker") struct WorkGuardTests {
    private final class Lines: Sendable { let lines = Mutex<[String]>([]) }

    @Test(
        "a worker that cannot be restricted is not started, and the platform gets an error",
        arguments: JobSandbox.Restriction.allCases, ["/there/is/no/such/program", nil]
    )
    func refuses(_ hold: JobSandbox.Restriction, program: String?) async throws {
        var order = IngestJob(
            kind: .publish, uri: "http://127.0.0.1:9/film.mp4", platform: "http://127.0.0.1:9", credential: "work-x")
        order.networks = ["127.0.0.1"]
        order.mediaPort = 9
        let written = Lines()
        let guarded = try #require(
            JobSandbox(order, hold) { line in written.lines.withLock { $0.append(line) } })
        await guarded.run(program, ["worker"], environment: [:])
        let reports = written.lines.withLock { $0 }.compactMap { JobReport(line: $0) }
        #expect(reports.count == 1)
        guard case .ended(let reason, let description)? = reports.first else {
            Issue.record("\(reports)")
            return
        }
        #expect(reason == "failed")
        #expect(description.contains("not started"))
    }
}
