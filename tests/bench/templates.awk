# Rows of three templates whose fillings are drawn: awk -v rows=N -v seed=S -f tests/bench/templates.awk
# Most of a row is what all rows of its template have, as in sets that were made from logs.
BEGIN {
    srand(seed)
    for (i = 0; i < rows; i++) {
        who = "name" int(rand() * 20); what = "thing" int(rand() * 20); where = "town" int(rand() * 10)
        id = int(rand() * 1000000); t = int(rand() * 3)
        if (t == 0)
            print "the customer", who, "from", where, "wrote to us about order", id, "and says that the", what,
                  "which was delivered last week does not work as it should please decide which of the teams in",
                  "our service centre has to look at this message and answer with the name of the team alone"
        else if (t == 1)
            print "read the following note of the warehouse and tell us whether the parcel may leave the building",
                  "today parcel", id, "for", who, "in", where, "holds one", what, "and two bags of screws and the",
                  "papers were signed by the head of the shift in the morning answer with yes or no and a reason"
        else
            print "translate the sentence below into german and keep all names and all numbers as they are written",
                  "the invoice", id, "that was sent to", who, "for the", what, "has to be paid within thirty days at",
                  "the office in", where, "or by a transfer to the account that is named at the end of the letter"
    }
}
