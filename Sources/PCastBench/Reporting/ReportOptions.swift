import ArgumentParser

/// How a measurement is told.
struct ReportOptions: ParsableArguments {
    @Flag(help: "One JSON object a line on standard output.")
    var json = false
}
