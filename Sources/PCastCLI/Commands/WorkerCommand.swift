import ArgumentParser
import Foundation
import PCast
import PCastIO

/// The command `pcast worker`, which a platform starts for an ingest or egress job.
struct WorkerCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Process one ingest or egress job of a platform, which starts this command.",
        discussion:
            "It reads the job from standard input and reports to standard output. It ends when either is closed.",
        shouldDisplay: false)

    func run() async throws {
        guard let line = readLine(), let order = IngestJob(line: line) else {
            throw CommandFailure(
                .unusableArguments, "There is no job on standard input: workers are started by “pcast serve”.")
        }
        // The platform holds the other end of standard input while it runs. This process must end with it, even if the
        // platform crashes.
        let watch = Thread {
            while readLine() != nil {}
            _exit(0)
        }
        watch.start()
        if order.guardAddress == nil, let hold = JobSandbox.Restriction.available(for: order) {
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
