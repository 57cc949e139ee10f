import ArgumentParser

/// The output format of a measurement.
struct ReportOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line to standard output.")
    var json = false
}
