import ArgumentParser
import Foundation
import PCast
import PCastIO

/// The command `pcast worker`, which a platform starts for an ingest or egress job.
struct WorkerCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Work on one stream for a platform, which starts this by itself.",
        discussion:
            "It reads its order from standard input, tells what it does on standard output, and ends with either.",
        shouldDisplay: false)

    func run() async throws {
        guard let line = readLine(), let order = IngestJob(line: line) else {
            throw CommandFailure(.unusableArguments, "“pcast serve” starts its workers by itself.")
        }
        // The platform holds the other end of standard input while it runs. This process must end with it, even if the
        // platform crashes.
        let watch = Thread {
            while readLine() != nil {}
            _exit(0)
        }
        watch.start()
        if order.guardAddress == nil, let hold = JobSandbox.Hold.available(for: order) {
            let guarded = JobSandbox(order, hold) { StandardOutput.write($0) }
            await guarded?.run(
                Bundle.main.executablePath, ["worker"], environment: ProcessInfo.processInfo.environment)
            return
        }
        await StreamJob(order) { report in
            StandardOutput.write(report.line)
        }.run()
    }
}
